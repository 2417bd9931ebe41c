import { afterEach, beforeEach, expect, it, vi } from "vitest";

import type { Upload } from "../api/results";
import { useFiles } from "./files";

const file = (sha256: string): Upload => ({ sha256, name: sha256, kind: "image", size: 1, created: 0 }) as unknown as Upload; // the rest plays no part
const page = (names: string[], next: string | null = null): object => ({ files: names.map(file), next });
const shown = (): string[] => useFiles.getState().files?.map((one) => one.sha256) ?? [];

let given: ((body: object | null) => void)[];

beforeEach(() => {
  given = [];
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => {
    given.push((body) => resolve(new Response(body === null ? null : JSON.stringify(body), { status: body === null ? 204 : 200 })));
  }));
});
afterEach(() => vi.unstubAllGlobals());

it("leaves no gap when the next page comes after the list was asked for anew", async () => {
  useFiles.setState({ files: [file("b")], next: "after-b" });
  const more = useFiles.getState().more();
  const load = useFiles.getState().load();
  given[1]?.(page(["d", "c"], "after-c"));
  await load;
  given[0]?.(page(["a"], null));
  await more;
  expect([shown(), useFiles.getState().next]).toEqual([["d", "c"], "after-c"]);
});

it("does not show again a file that was deleted while the list was on its way", async () => {
  useFiles.setState({ files: [file("b"), file("a")], next: null });
  const load = useFiles.getState().load();
  const remove = useFiles.getState().remove("b");
  given[1]?.(null);
  await vi.waitFor(() => expect(given).toHaveLength(3));
  given[2]?.(page(["a"]));
  given[0]?.(page(["b", "a"]));
  await Promise.all([load, remove]);
  expect(shown()).toEqual(["a"]);
});
