/** The names of the models on the server, asked again whenever a list of them is opened. */

import { create } from "zustand";

import { say } from "../ui/toasts";
import { modelNames } from "./server";

export const useModels = create<{ readonly names: readonly string[] }>()(() => ({ names: [] }));

export async function loadModels(): Promise<void> {
  try {
    useModels.setState({ names: await modelNames() });
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), { kind: "bad" });
  }
}
