/** Ways through the page in a real chromium, each file on a real server of its own: `npm run test:browser`. */

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    include: ["tests/*.test.ts"],
    globalSetup: "tests/rig/chromium.ts",
    maxWorkers: 2,
    testTimeout: 400_000,
    hookTimeout: 240_000,
  },
});
