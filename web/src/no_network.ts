/** Before each test file (`vite.config.ts`): there is no network; a test that needs a server stands in for it. */

globalThis.fetch = () => Promise.reject(new TypeError("there is no network in tests"));
