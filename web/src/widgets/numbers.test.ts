import { describe, expect, it } from "vitest";

import type { InputPort } from "../model/catalogue";
import { partOf, readList, readNumber, stepped, writeList } from "./numbers";

const steps: InputPort = {
  name: "steps", type: "int", optional: true, doc: "", was: [], hint: { hint: "range", low: 1, high: 200, step: null, strict: false },
};
const strength: InputPort = {
  name: "strength", type: "float", optional: true, doc: "", was: [], hint: { hint: "range", low: 0, high: 1, step: 0.01, strict: false },
};

describe("numbers", () => {
  it("reads what the port takes and says what is wrong with the rest", () => {
    expect(readNumber(steps, " 28 ")).toEqual({ value: 28 });
    expect(readNumber(steps, "2.5")).toEqual({ flaw: "whole" });
    expect(readNumber(steps, "0")).toEqual({ flaw: "range" });
    expect(readNumber(steps, "many")).toEqual({ flaw: "number" });
    expect(readNumber(steps, "99999999999999999999")).toEqual({ flaw: "whole" });
    expect(readNumber(strength, "0,75")).toEqual({ value: 0.75 });
    expect(readNumber(strength, "1e-2")).toEqual({ value: 0.01 });
  });

  it("takes an emptied field as the default", () => {
    expect(readNumber(steps, "")).toEqual({ value: undefined });
  });

  it("steps without the errors of binary fractions and stays in range", () => {
    expect(stepped(strength, 0.29, 1)).toBe(0.3);
    expect(stepped(strength, 0.995, 3)).toBe(1);
    expect(stepped(steps, 1, -1)).toBe(1);
  });

  it("tells how full the range is", () => {
    expect(partOf(strength, 0.25)).toBe(0.25);
    expect(partOf(strength, null)).toBeUndefined();
  });

  it("reads lists of numbers between commas and texts between lines", () => {
    expect(readList("int", "1, 2\n3")).toEqual([1, 2, 3]);
    expect(readList("int", "1, x")).toBeUndefined();
    expect(readList("int", "1.5")).toBeUndefined();
    expect(readList("text", "a, b\nc")).toEqual(["a, b", "c"]);
    expect(writeList([1, 2, 3])).toBe("1, 2, 3");
  });
});
