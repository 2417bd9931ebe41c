/** A sentence of the server or of a file, in which `names` stand between backticks. */

import type { ReactNode } from "react";

export function Prose({ text }: { readonly text: string }): ReactNode {
  return text.split(/`([^`\n]+)`/).map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}
