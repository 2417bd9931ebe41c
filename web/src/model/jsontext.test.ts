import { describe, expect, it } from "vitest";

import vectors from "../../../tests/graph/json_vectors.json";
import { type Flaw, readJson, writeJson } from "./jsontext";

function read(text: string): unknown {
  const found = readJson(text);
  if (!("value" in found)) throw new Error(found.flaws.map((flaw) => flaw.message).join("\n"));
  return found.value;
}

function flaws(text: string): readonly Flaw[] {
  const found = readJson(text);
  return "flaws" in found ? found.flaws : [];
}

function fromBits(bits: string): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${bits}`));
  return view.getFloat64(0);
}

describe("writing", () => {
  it.each(vectors.numbers as [string, string][])("prints the number %s as %s", (bits, text) => {
    expect(writeJson(fromBits(bits))).toBe(`${text}\n`);
    expect(Object.is(read(text), fromBits(bits) + 0)).toBe(true);
  });

  it.each(vectors.strings as [number[], string][])("escapes the text of units %j", (units, text) => {
    const string = String.fromCharCode(...units);
    expect(writeJson(string)).toBe(`${text}\n`);
    expect(read(text)).toBe(string);
  });

  it.each(vectors.values as [string, string][])("lays out %s", (source, canonical) => {
    expect(writeJson(read(source) as never)).toBe(canonical);
    expect(writeJson(read(canonical) as never)).toBe(canonical);
  });

  it("keeps keys that look like positions, and __proto__, where they stand", () => {
    const text = '{\n  "b": 1,\n  "10": 2,\n  "__proto__": {\n    "x": 1\n  },\n  "2": 3,\n  "constructor": 4\n}\n';
    expect(writeJson(read(text) as never)).toBe(text);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it.each([
    [{ a: [Number.NaN] }, "At a[0]: NaN is not a finite number, and JSON has no other. Use a finite number."],
    [{ a: 2 ** 53 }, "At a: 9007199254740992 is beyond 2^53-1, where other programs round. Use a smaller number."],
    [{ a: "\ud800" }, "At a: a lone surrogate, which is no character. Replace it."],
  ])("refuses %j with the place", (value, message) => {
    expect(() => writeJson(value)).toThrow(message);
  });

  it("refuses what nests too deep", () => {
    let value: never[] = [];
    for (let depth = 0; depth < 63; depth += 1) value = [value as never];
    expect(writeJson(value)).toContain("[]");
    expect(() => writeJson([value])).toThrow("nesting of more than 64 levels");
  });
});

describe("reading", () => {
  it.each(vectors.refused as [string, string, string, string][])("refuses %j as %s", (source, code, path, position) => {
    const found = flaws(source);
    expect(found.map((flaw) => flaw.code)).toEqual([code]);
    expect(found[0]?.message).toContain(` at ${path === "" ? position : `${path} (${position})`}. `);
  });

  it.each([
    ['{"a": 1,\n "a": 2}', 'The key "a" for the second time at a (line 2, column 2). Keep one of the two.'],
    ['{"a": NaN}', "NaN at a (line 1, column 7). Write a finite number; JSON has no such value."],
    ["[1e400]", "1e400, which is beyond the largest number, at [0] (line 1, column 2). Write a finite number."],
    [
      '{"seed": 9007199254740993}',
      "The integer 9007199254740993, which is beyond 2^53-1, at seed (line 1, column 10). Write a smaller number; other programs would round this one.",
    ],
    ['"\\udfff"', "A lone surrogate at line 1, column 1. Replace it: half of a surrogate pair is no character."],
    ["{,}", "No valid JSON (expecting property name enclosed in double quotes) at line 1, column 2. Mend the text there."],
    ["\ufeff1", "A byte order mark at line 1, column 1. Save the file as UTF-8 without one."],
    ['["\u{1f3a8}\u{1f3a8}", x]', "No valid JSON (expecting value) at line 1, column 8. Mend the text there."],
    [`${"[".repeat(65)}${"]".repeat(65)}`, "Nesting of more than 64 levels at [0][0][0][0] (line 1, column 65). Flatten the value."],
  ])("says of %j what, where and what to do", (source, message) => {
    expect(flaws(source).map((flaw) => flaw.message)).toEqual([message]);
  });

  it("tells all flaws of a text at once", () => {
    const codes = flaws('{"a": NaN, "a": [1e999, 9007199254740992], "b": "\\ud800"}').map((flaw) => flaw.code);
    expect(codes).toEqual(["not_finite", "duplicate_key", "not_finite", "integer_too_large", "lone_surrogate"]);
  });

  it("tells the flaws before a syntax error too", () => {
    expect(flaws('{"a": 1, "a": 2, ]').map((flaw) => flaw.code)).toEqual(["duplicate_key", "bad_json"]);
  });

  it("refuses a million brackets without running out of stack", () => {
    expect(flaws("[".repeat(1_000_000)).map((flaw) => flaw.code)).toEqual(["too_deep"]);
  });

  it("names at most a hundred flaws", () => {
    expect(flaws(`{${Array(20_000).fill('"a":1').join(",")}}`)).toHaveLength(100);
  });
});
