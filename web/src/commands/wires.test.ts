// @vitest-environment happy-dom

import { beforeEach, describe, expect, it, vi } from "vitest";

import { keepScene, linking } from "../canvas/linking";
import { onCanvasKey } from "../canvas/keys";
import { useLocal } from "../canvas/local";
import { sceneOf } from "../canvas/scene";
import { CATALOGUE, documentOf } from "../canvas/testing";
import { entriesFor } from "../menus/entries";
import { useCatalogue } from "../state/catalogue";
import { activeDocument, useDocuments } from "../state/documents";
import { type MenuTarget, closeContextMenu, openContextMenu } from "../state/menu";
import type { MenuItem } from "../ui/Menu";

const input: MenuTarget = { kind: "port", id: "blur", port: "image", side: "input" };
const output: MenuTarget = { kind: "port", id: "load", port: "image", side: "output" };
const now = () => activeDocument()!.history.document;

function refresh(): void {
  keepScene(sceneOf(now(), "", CATALOGUE));
}

function menuOf(target: MenuTarget): readonly MenuItem[] {
  openContextMenu({ at: { x: 0, y: 0 }, target });
  const entries = entriesFor(target).flat();
  closeContextMenu();
  return entries;
}

function choose(target: MenuTarget, id: string): void {
  const entry = menuOf(target).find((one) => one.id === id);
  if (entry?.run === undefined) throw new Error(`${id} is not in the menu`);
  entry.run();
  refresh();
}

function titles(target: MenuTarget): readonly string[] {
  return menuOf(target).map((one) => one.id);
}

beforeEach(() => {
  useCatalogue.setState({ catalogue: CATALOGUE });
  useDocuments.setState({ open: [], active: "" });
  useDocuments.getState().add(documentOf({
    load: { type: "load", inputs: {} },
    blur: { type: "blur", inputs: { image: { link: "load.image" } } },
    save: { type: "save", inputs: { image: { link: "load.image" } } },
    other: { type: "save", inputs: {} },
  }));
  refresh();
});

describe("the menu of a port", () => {
  it("has what can be done with a linked input, and with an empty one only what connects it", () => {
    expect(titles(input)).toEqual(["connect_port", "go_to_source", "insert_on_wire", "add_wire_point", "remove_wire"]);
    expect(titles({ ...input, id: "other" } as MenuTarget)).toEqual(["connect_port"]);
  });

  it("removes the wire of an input, and all wires of an output as one step", () => {
    choose(input, "remove_wire");
    expect(now().nodes["blur"]?.inputs).toEqual({});
    useDocuments.getState().undo();
    refresh();
    choose(output, "remove_wires");
    expect([now().nodes["blur"]?.inputs, now().nodes["save"]?.inputs]).toEqual([{}, {}]);
    useDocuments.getState().undo();
    expect(now().nodes["save"]?.inputs).toEqual({ image: { link: "load.image" } });
  });

  it("connects by keyboard: arrows choose the other port, Enter connects", () => {
    choose({ kind: "port", id: "blur", port: "image", side: "output" }, "connect_port");
    const press = (key: string): boolean => window.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
    for (let tries = 0; linking()?.aim?.node !== "other" && tries < 5; tries++) press("ArrowDown");
    press("Enter");
    expect(now().nodes["other"]?.inputs).toEqual({ image: { link: "blur.image" } });
    expect(linking()).toBeNull();
  });

  it("follows a wire to the node that it comes from", () => {
    choose(input, "go_to_source");
    expect([...activeDocument()!.selection]).toEqual(["load"]);
  });

  it("leads the wire through a point that arrows move and Delete takes out", () => {
    vi.stubGlobal("requestAnimationFrame", () => 0);
    choose(input, "add_wire_point");
    const points = () => now().view?.wires?.["blur.image"]?.points;
    const [[x = 0, y = 0] = []] = points() ?? [];
    const surface = document.createElement("div");
    surface.dataset["surface"] = "near";
    const press = (key: string): void => {
      onCanvasKey({ key, target: surface, nativeEvent: {}, preventDefault: () => undefined, stopPropagation: () => undefined } as unknown as React.KeyboardEvent);
      refresh();
    };
    press("ArrowDown");
    expect(points()![0]![0]).toBe(x);
    expect(points()![0]![1]).toBeGreaterThan(y);
    press("Delete");
    expect(points() ?? []).toEqual([]);
    expect(now().nodes["blur"]?.inputs).toEqual({ image: { link: "load.image" } });
    expect(useLocal.getState().point).toBeNull();
    vi.unstubAllGlobals();
  });
});
