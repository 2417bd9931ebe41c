/** Asking for a line of text: `await askText({...})` gives it, or null if one thinks better of it. */

import { showDialog } from "./dialogs";
import { later } from "./later";

const AskDialog = later(async () => ({ default: (await import("./AskDialog")).AskDialog }));

export interface Question {
  readonly title: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly isEmptyAllowed?: boolean;
  /** The sentence that says why this cannot be taken; undefined: it can. */
  readonly check?: (text: string) => string | undefined;
}

export function askText(question: Question): Promise<string | null> {
  return new Promise((resolve) => showDialog(<AskDialog {...question} onAnswer={resolve} />));
}
