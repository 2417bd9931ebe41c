// @vitest-environment happy-dom

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { Guarded } from "./Guarded";

afterEach(cleanup);

test("a part that fails shows what happened, and works again when it is loaded again", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  let isBroken = true;
  function Part(): React.ReactNode {
    if (isBroken) throw new Error("no such port");
    return <p>well</p>;
  }
  render(<><p>beside</p><Guarded name="Canvas"><Part /></Guarded></>);
  expect(screen.getByRole("alert").textContent).toContain("no such port");
  expect(screen.getByText("beside")).toBeTruthy();
  isBroken = false;
  fireEvent.click(screen.getByText("Reload the part"));
  expect(screen.getByText("well")).toBeTruthy();
});
