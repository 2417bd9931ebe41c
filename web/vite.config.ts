import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** The server that `npm run dev` hands requests of the API to. */
const server = process.env["LATENTGRAPH_URL"] ?? "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2023",
    // The server serves /assets/{name} from one flat folder, and its policy allows no inline script, style or data: worker.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    chunkSizeWarningLimit: 1000,
  },
  worker: { format: "es" },
  // Tests read the workflows and vectors that lie beside web/.
  server: { fs: { allow: [".."] }, proxy: { "/v1": { target: server, ws: true } } },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"], restoreMocks: true, css: { include: [/tokens\.css/, /colours\.css/] } },
});
