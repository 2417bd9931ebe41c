import { afterEach, expect, it } from "vitest";

import { useLanguage } from "../texts";
import { sizeText } from "./format";

afterEach(() => useLanguage.setState({ language: "en" }));

it("writes a size in the unit that suits it", () => {
  expect([0, 1, 999, 1234, 12_345_678, 3.2e12, 5e15].map(sizeText)).toEqual(["0 bytes", "1 byte", "999 bytes", "1.23 kB", "12.3 MB", "3.2 TB", "5,000 TB"]);
});

it("writes a size as the language that is shown does", () => {
  useLanguage.setState({ language: "de" });
  expect(sizeText(1.5e9).replace(/\s/, " ")).toBe("1,5 GB"); // the space is one that does not break
});
