/** Every fault still applies, its flow exists, and no flow is without one: a fault whose text is gone tests nothing. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { FAULTS } from "./faults";
import { flowsOf } from "./flows";

const WEB = join(import.meta.dirname, "../..");

test.each(FAULTS)("its text stands once in its file: $name", ({ file, old }) => {
  expect(readFileSync(join(WEB, "src", file), "utf8").split(old).length - 1).toBe(1);
});

test("every flow has a fault that it must notice, and every fault a flow", () => {
  const faulty = FAULTS.map(({ flow: [file, name] }) => `${file}: ${name}`);
  expect([...new Set(faulty)].sort()).toEqual(flowsOf(join(WEB, "tests")).sort());
});

test("faults have names of their own", () => {
  expect(new Set(FAULTS.map((one) => one.name)).size).toBe(FAULTS.length);
});
