// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, test } from "vitest";

import { type PasteHandler, pasteHandlers } from "../state/clipboard";
import { useDocuments } from "../state/documents";
import { emptyDocument } from "../model/document";
import { listenToClipboard } from "./clipboard_events";
import { CHAIN, link, openOnly, selected, shown, steps } from "./testing";

let stop = (): void => undefined;
beforeEach(() => {
  document.body.innerHTML = '<main id="canvas"></main><input id="field">';
  stop = listenToClipboard();
});
afterEach(() => stop());

/** What the clipboard holds. */
function send(name: "copy" | "cut" | "paste", text = "", on = "canvas"): { text: string; isTaken: boolean } {
  const data = new DataTransfer();
  if (text !== "") data.setData("text/plain", text);
  const event = new ClipboardEvent(name, { clipboardData: data, bubbles: true, cancelable: true });
  document.getElementById(on)?.dispatchEvent(event);
  return { text: data.getData("text/plain"), isTaken: event.defaultPrevented };
}
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

test("what is copied is the text of a workflow, and pasting it gives the nodes again", async () => {
  openOnly(CHAIN, ["a", "b"]);
  const { text } = send("copy");
  expect(JSON.parse(text)).toMatchObject({ format: "latentgraph/workflow", nodes: { a: { type: "make" }, b: { inputs: { image: link("a.image") } } } });
  send("paste", text);
  await settled();
  expect(Object.keys(shown().nodes)).toEqual(["a", "b", "c", "a_2", "b_2"]);
  expect(shown().nodes["b_2"]?.inputs).toEqual({ image: link("a_2.image") });
  expect(selected()).toEqual(["a_2", "b_2"]);
  expect(steps()).toBe(1);
});

test("pasting goes across documents", async () => {
  openOnly(CHAIN, ["a"]);
  const { text } = send("copy");
  useDocuments.getState().add(emptyDocument("other"));
  send("paste", text);
  await settled();
  expect(Object.keys(shown().nodes)).toEqual(["a"]);
});

test("links from outside come along only when pasted with links", async () => {
  openOnly(CHAIN, ["b"]);
  const { text } = send("copy");
  send("paste", text);
  await settled();
  expect(shown().nodes["b_2"]?.inputs).toEqual({});
  document.getElementById("canvas")?.dispatchEvent(new KeyboardEvent("keydown", { key: "V", code: "KeyV", ctrlKey: true, shiftKey: true, bubbles: true }));
  send("paste", text);
  await settled();
  expect(shown().nodes["b_3"]?.inputs).toEqual({ image: link("a.image") });
});

test("cutting takes the nodes out, as one step", () => {
  openOnly(CHAIN, ["b"]);
  expect(send("cut").isTaken).toBe(true);
  expect(Object.keys(shown().nodes)).toEqual(["a", "c"]);
  expect(steps()).toBe(1);
});

test("in a field, and with nothing selected, the clipboard is the browser's", () => {
  openOnly(CHAIN, ["b"]);
  expect(send("copy", "", "field")).toEqual({ text: "", isTaken: false });
  expect(send("paste", "text", "field").isTaken).toBe(false);
  openOnly(CHAIN);
  expect(send("copy").isTaken).toBe(false);
});

test("a flawed workflow changes nothing and is told", async () => {
  openOnly(CHAIN);
  send("paste", '{"format": "latentgraph/workflow", "nodes": ');
  await settled();
  expect(shown()).toBe(CHAIN);
});

test("a whole workflow opens in a tab of its own, and leaves the one that is shown as it is", async () => {
  openOnly(CHAIN);
  send("paste", JSON.stringify({ ...CHAIN, name: "whole" }));
  await settled();
  const { open } = useDocuments.getState();
  expect(open.map((one) => one.history.document.name)).toEqual([undefined, "whole"]);
  expect(open[0]?.history.document).toBe(CHAIN);
  expect(shown().name).toBe("whole");
});

test("other text goes to whoever takes it", async () => {
  const taken: string[] = [];
  const handler: PasteHandler = ({ text }) => { taken.push(text); return true; };
  pasteHandlers.push(handler);
  openOnly(CHAIN);
  send("paste", "a red circle");
  await settled();
  pasteHandlers.splice(pasteHandlers.indexOf(handler), 1);
  expect([taken, shown()]).toEqual([["a red circle"], CHAIN]);
});
