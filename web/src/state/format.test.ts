import { afterEach, expect, test } from "vitest";

import { useLanguage } from "../texts";
import { aboutText, clockText, secondsText, sizeText } from "./format";

afterEach(() => useLanguage.setState({ language: "en" }));

test("a size is written in the unit that suits it", () => {
  expect([0, 1, 999, 1234, 12_345_678, 3.2e12, 5e15].map(sizeText)).toEqual(["0 bytes", "1 byte", "999 bytes", "1.23 kB", "12.3 MB", "3.2 TB", "5,000 TB"]);
});

test("numbers and times are written as the language that is shown writes them", () => {
  expect([secondsText(2.34), secondsText(0.004), secondsText(83)]).toEqual(["2.3 s", "4 ms", "1 min 23 s"]);
  expect(clockText(new Date(2026, 0, 1, 15, 4, 5).getTime())).toBe("03:04:05 PM");
  useLanguage.setState({ language: "de" });
  expect([secondsText(2.34), sizeText(1.5e9).replace(/\s/, " ")]).toEqual(["2,3 s", "1,5 GB"]); // the space is one that does not break
  expect(clockText(new Date(2026, 0, 1, 15, 4, 5).getTime())).toBe("15:04:05");
});

test("an estimate is no more exact than it can be meant", () => {
  expect([0.42, 12.3, 43, 61, 83, 118, 361, 3599, 7800, 7200].map(aboutText)).toEqual([
    "0.4 s", "12 s", "45 s", "1 min", "1 min 25 s", "2 min", "6 min", "1 h", "2 h 10 min", "2 h",
  ]);
});
