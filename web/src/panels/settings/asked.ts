/** What the server answers, asked when a part of the panel is opened, and again by a button. */

import { useCallback, useEffect, useRef, useState } from "react";

import { sentence } from "../../api/client";

export interface Asked<T> {
  readonly value: T | null;
  /** Why there is none: a sentence. */
  readonly problem: string | null;
  ask(): Promise<void>;
}

export function useAsked<T>(read: () => Promise<T>): Asked<T> {
  const [value, setValue] = useState<T | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const asked = useRef(0);
  const ask = useCallback(async (): Promise<void> => {
    const number = ++asked.current; // an older answer that comes after a newer one says nothing
    try {
      const found = await read();
      if (number !== asked.current) return;
      setValue(found);
      setProblem(null);
    } catch (error) {
      if (number === asked.current) setProblem(sentence(error));
    }
  }, [read]);
  useEffect(() => void ask(), [ask]);
  return { value, problem, ask };
}
