import { beforeEach, expect, it } from "vitest";

import { findOut, useConnection } from "./connection";
import { json, serve } from "./testing";

beforeEach(() => useConnection.setState({ state: "connected", since: 0 }));

it("says that the server restarts when it says so itself", async () => {
  serve(() => {
    throw new TypeError("no network");
  });
  await findOut(1001);
  expect(useConnection.getState().state).toBe("restarting");
});

it("says that it tries again when nobody answers", async () => {
  serve(() => {
    throw new TypeError("no network");
  });
  await findOut(1006);
  expect(useConnection.getState().state).toBe("reconnecting");
});

it("says that the session is over when the server does not know it", async () => {
  serve((request) => (request.path === "/healthz" ? json({ status: "ok" }) : json({ code: "unauthorized", detail: "No session.", status: 401 }, 401)));
  await findOut(1006);
  expect(useConnection.getState().state).toBe("lost");
});
