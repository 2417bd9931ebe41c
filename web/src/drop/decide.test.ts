import { expect, test } from "vitest";

import { FILE_TYPE, OUTPUT_TYPE, asPngName, isWanted, sortOf } from "./decide";

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0));

test.each([
  ["\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "picture"],
  ["\xff\xd8\xff\xe0..JFIF", "picture"],
  ["RIFF....WEBPVP8 ", "picture"],
  ["GIF89a", "foreign_picture"],
  ["\0\0\0 ftypavif", "foreign_picture"],
  ["\0\0\0 ftypisom", "video"],
  ["\x1a\x45\xdf\xa3....webm", "video"],
  ["RIFF....WAVEfmt ", "audio"],
  ['  \n{"format": "latentgraph/workflow"', "document"],
  ['\xef\xbb\xbf{"nodes": {}}', "document"],
  ['{"format": "latentgraph/curve-1"', "curve"],
  ["Dear diary", "other"],
  ["", "empty"],
])("a file that begins with %j is: %s", (head, sort) => {
  expect(sortOf(bytes(head))).toBe(sort);
});

test("a file's name does not say what it is", () => {
  expect(sortOf(bytes("<svg onload=alert(1)>"))).toBe("other");
});

test("files and what the page drags are taken anywhere, text only outside of fields", () => {
  expect(isWanted(["Files"], true)).toBe(true);
  expect(isWanted([OUTPUT_TYPE, "text/plain"], true)).toBe(true);
  expect(isWanted([FILE_TYPE], false)).toBe(true);
  expect(isWanted(["text/plain"], false)).toBe(true);
  expect(isWanted(["text/plain"], true)).toBe(false);
  expect(isWanted(["application/x-latentgraph-node", "text/plain"], false)).toBe(false);
  expect(isWanted(["text/html"], false)).toBe(false);
});

test("a converted picture is named as what it is", () => {
  expect(asPngName("a.b.gif")).toBe("a.b.png");
  expect(asPngName("noname")).toBe("noname.png");
});
