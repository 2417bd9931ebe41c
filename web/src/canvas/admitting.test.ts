// @vitest-environment happy-dom

import { describe, expect, it } from "vitest";

import { NO_CATALOGUE } from "../model/catalogue";
import { emptyDocument } from "../model/document";
import { begun, next } from "./admitting";
import { sceneOf } from "./scene";

const size = { width: 1600, height: 900 };
const near = { x: 0, y: 0, zoom: 1 };

function sceneWithNodes(count: number) {
  const ids = Array.from({ length: count }, (_, at) => `node_${at}`);
  const nodes = Object.fromEntries(ids.map((id) => [id, { type: "x", inputs: {} }]));
  const view = { nodes: Object.fromEntries(ids.map((id, at) => [id, { x: (at % 25) * 300, y: Math.floor(at / 25) * 100 }])) };
  return sceneOf({ ...emptyDocument(), nodes, view }, "", NO_CATALOGUE);
}

describe("admitting", () => {
  it("mounts nothing from afar and everything of a small scene", () => {
    expect(begun(sceneWithNodes(500), { ...near, zoom: 0.2 }, size)).toEqual({ isFar: true, admitted: null, isShort: false });
    expect(begun(sceneWithNodes(30), near, size).admitted).toBeNull();
  });

  it("mounts what is in view a few per frame until it is whole", () => {
    const scene = sceneWithNodes(500);
    let state = begun(scene, near, size);
    let frames = 0;
    for (let after = next(state, scene, near, size); after !== state; after = next(state, scene, near, size)) {
      expect((after.admitted?.size ?? 0) - (state.admitted?.size ?? 0)).toBeLessThanOrEqual(8);
      state = after;
      frames++;
    }
    expect(frames).toBeGreaterThan(3);
    expect(state.isShort).toBe(false);
    expect(state.admitted?.has("node_0")).toBe(true);
    expect(state.admitted?.has("node_499")).toBe(false);
  });

  it("lets go of what is far out of view", () => {
    const scene = sceneWithNodes(500);
    const all = { isFar: false, admitted: new Set(scene.items.keys()), isShort: false };
    expect(next(all, scene, near, size).admitted?.has("node_499")).toBe(false);
  });
});
