import { afterEach, expect, test } from "vitest";

import { useLanguage } from "../texts";
import { clockText, secondsText, sizeText } from "./format";

afterEach(() => useLanguage.getState().choose("en"));

test("numbers and times are written as the language of the page writes them", async () => {
  expect([secondsText(2.34), sizeText(1_540_000), secondsText(0.004), secondsText(83)]).toEqual(["2.3 s", "1.5 MB", "4 ms", "1 min 23 s"]);
  expect(clockText(new Date(2026, 0, 1, 15, 4, 5).getTime())).toBe("03:04:05 PM");
  await useLanguage.getState().choose("de");
  expect([secondsText(2.34), sizeText(1_540_000)]).toEqual(["2,3 s", "1,5 MB"]);
  expect(clockText(new Date(2026, 0, 1, 15, 4, 5).getTime())).toBe("15:04:05");
});
