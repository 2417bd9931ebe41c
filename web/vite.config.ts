import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The server that `npm run dev` hands requests of the API to. */
const server = process.env["LATENTGRAPH_URL"] ?? "http://127.0.0.1:8765";

/** Beside assets/, so that no browser loads it: what is bundled asks for its licence to go along. */
const LICENCES = "licences.md";

/** Vite lists what the page bundles, and not what the worker does. */
const licencesOfTheWorker: Plugin = {
  name: "licences-of-the-worker",
  generateBundle: {
    order: "post",
    handler(_, bundle) {
      const list = bundle[LICENCES];
      if (list?.type !== "asset") throw new Error(`Vite wrote no ${LICENCES}: without it the page may not be passed on.`);
      for (const name of ["@dagrejs/dagre", "@dagrejs/graphlib"]) {
        const licence = readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), "utf-8");
        list.source = `${String(list.source)}\n## ${name} (MIT)\n\n${licence.trim()}\n`;
      }
    },
  },
};

export default defineConfig({
  plugins: [react(), licencesOfTheWorker],
  // xyflow asks for an older zustand: what it uses of it is the same.
  resolve: { dedupe: ["zustand"], alias: { "d3-color": fileURLToPath(new URL("./src/canvas/no_colours.ts", import.meta.url)) } },
  build: {
    target: "es2023",
    // The server serves /assets/{name} from one flat folder, and its policy allows no inline script, style or data: worker.
    assetsInlineLimit: 0,
    // One file of styles, and no lists of what each later part needs: they would be 2 kB of hashes in the first file.
    cssCodeSplit: false,
    modulePreload: { polyfill: false, resolveDependencies: (_, needed, { hostType }) => (hostType === "html" ? needed : []) },
    reportCompressedSize: true,
    license: { fileName: LICENCES },
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        // What the page needs at first in two files: that of others stays in the browser's cache when ours changes.
        codeSplitting: {
          groups: [
            { name: "vendor", tags: ["$initial"], test: /node_modules/, priority: 2 },
            { name: "page", tags: ["$initial"], priority: 1 },
          ],
        },
      },
    },
  },
  worker: { format: "es" },
  // Tests read the workflows and vectors that lie beside web/.
  server: { fs: { allow: [".."] }, proxy: { "/v1": { target: server, ws: true } } },
  // A page costs a test file a second: those that need one say so in their first line (`@vitest-environment happy-dom`).
  test: { environment: "node", setupFiles: ["src/no_network.ts"], include: ["src/**/*.test.{ts,tsx}", "tests/faults/*.test.ts"], restoreMocks: true, css: { include: [/tokens\.css/, /colours\.css/] } },
});
