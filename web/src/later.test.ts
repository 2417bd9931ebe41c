// @vitest-environment happy-dom

import { expect, test } from "vitest";

import { hands } from "./later";
import { usePalette } from "./state/palette";

test("keys run commands from when their code has come until they are let go", async () => {
  const stop = (await hands()).listenToHands();
  const press = (): void => void document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
  press();
  expect(usePalette.getState().shown).toEqual({ list: "commands" });
  usePalette.setState({ shown: null });
  stop();
  press();
  expect(usePalette.getState().shown).toBeNull();
});
