// @vitest-environment happy-dom

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";

import type { InputPort } from "../model/catalogue";
import { Widget } from "./Widget";

const port = (more: Partial<InputPort>): InputPort => ({ name: "x", type: "int", optional: false, doc: "", was: [], ...more });
const steps = port({ optional: true, hint: { hint: "range", low: 1, high: 200, step: null, strict: false } });

function show(of: InputPort, value: Parameters<typeof Widget>[0]["value"]) {
  const onChange = vi.fn();
  const view = render(<Widget port={of} value={value} onChange={onChange} label="Steps" />);
  return { onChange, view, written: () => onChange.mock.calls.map(([written]: unknown[]) => written) };
}

describe("widgets", () => {
  afterEach(cleanup);

  it("shows a value as text, and an input only while it is edited", () => {
    const { view } = show(steps, 28);
    expect(view.container.querySelector("input")).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "Steps: 28" }));
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: "Steps" }).value).toBe("28");
  });

  it("shows an input left to the family as automatic", () => {
    show(steps, undefined);
    expect(screen.getByRole("button", { name: "Steps: automatic" })).toBeDefined();
  });

  it("keeps what was typed with a sentence when it is refused, also when one looks away", () => {
    const { written } = show(steps, 28);
    fireEvent.click(screen.getByRole("button"));
    const field = screen.getByRole<HTMLInputElement>("textbox");
    fireEvent.change(field, { target: { value: "900" } });
    fireEvent.blur(field);
    expect(written()).toEqual([]);
    expect(screen.getByRole("alert").textContent).toBe("Steps got 900; it takes 1 to 200.");
    expect(screen.getByRole<HTMLInputElement>("textbox").value).toBe("900");
  });

  it("writes every keystroke under one session, so that undo takes them as one", () => {
    const { onChange } = show(port({ type: "text", hint: { hint: "text", multiline: true } }), "a");
    fireEvent.click(screen.getByRole("button"));
    for (const text of ["ab", "abc"]) fireEvent.change(screen.getByRole("textbox"), { target: { value: text } });
    const sessions = onChange.mock.calls.map(([, session]: unknown[]) => session);
    expect(onChange.mock.calls.map(([text]: unknown[]) => text)).toEqual(["ab", "abc"]);
    expect(new Set(sessions).size).toBe(1);
  });

  it("goes back to the first value with Escape", () => {
    const { written } = show(steps, 28);
    fireEvent.click(screen.getByRole("button"));
    fireEvent.change(screen.getByRole("textbox"), { target: { value: "30" } });
    fireEvent.keyDown(screen.getByRole("textbox"), { key: "Escape" });
    expect(written()).toEqual([30, 28]);
  });

  it("never lets a key out of a field to the canvas", () => {
    const onKey = vi.fn();
    render(<div onKeyDown={onKey}><Widget port={port({ type: "text" })} value="" onChange={() => undefined} label="Name" /></div>);
    fireEvent.click(screen.getByRole("button"));
    for (const key of ["Delete", "Backspace", "a", "m", "Escape"]) fireEvent.keyDown(screen.getByRole("textbox"), { key });
    expect(onKey).not.toHaveBeenCalled();
  });

  it("turns a seed into one that is drawn for each run, and back into a number", () => {
    const seed = port({ hint: { hint: "seed" } });
    const first = show(seed, 7);
    fireEvent.click(screen.getByRole("button", { name: /draw a new one/ }));
    expect(first.written()).toEqual([{ random: true }]);
    cleanup();
    const second = show(seed, { random: true });
    fireEvent.click(screen.getByRole("button", { name: /draw a new one/ }));
    expect(Number.isSafeInteger(second.written()[0])).toBe(true);
  });

  it("keeps a choice that is not among the options, and says so", () => {
    show(port({ type: "text", default: "fast", hint: { hint: "choice", options: ["fast", "slow"] } }), "odd");
    fireEvent.click(screen.getByRole("button"));
    expect(screen.getByRole<HTMLSelectElement>("combobox").value).toBe("odd");
    expect(screen.getByRole("option", { name: "odd (missing)" })).toBeDefined();
  });
});
