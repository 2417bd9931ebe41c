/**
 * A field to type into and the list it searches: arrows choose, Enter takes, Escape leaves. Only the lines that are seen are in
 * the page, so that a list of any length opens at once.
 */

import { type KeyboardEvent, type ReactNode, type RefObject, type UIEvent, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";

import { Icon } from "../ui/icons";
import styles from "./ChoiceList.module.css";

/** A line: a heading, or something that can be chosen. */
export type ListLine<T> = { readonly heading: string } | { readonly key: string; readonly value: T };

interface Props<T> {
  readonly label: string;
  readonly placeholder: string;
  readonly query: string;
  readonly lines: readonly ListLine<T>[];
  readonly onQuery: (query: string) => void;
  readonly onChoose: (value: T, event: { readonly shiftKey: boolean }) => void;
  /** Backspace with nothing typed. */
  readonly onEmptyBackspace?: () => void;
  readonly onActive?: (value: T | null) => void;
  /** Between the field and the list. */
  readonly above?: ReactNode;
  /** What is shown instead of the list while it is empty. */
  readonly empty: ReactNode;
  readonly line: (value: T) => ReactNode;
  /** How high a line is, in pixels. */
  readonly row: number;
}

const HEADING = 28;
const SPARE = 6;

export function ChoiceList<T>({ label, placeholder, query, lines, onQuery, onChoose, onEmptyBackspace, onActive, above, empty, line, row }: Props<T>): ReactNode {
  const id = useId();
  const { list, seen, see, reveal } = useSeen(query, row);
  const { tops, choices, height } = useMemo(() => layout(lines, row), [lines, row]);
  const [active, setActive] = useState(0);
  const chosen = choices[Math.min(active, choices.length - 1)];
  useEffect(() => setActive(0), [query, choices.length]);
  const activeLine = chosen === undefined ? undefined : lines[chosen];
  const value = activeLine !== undefined && "value" in activeLine ? activeLine.value : null;
  useEffect(() => onActive?.(value), [value, onActive]);

  const go = (to: number): void => {
    const next = Math.max(0, Math.min(choices.length - 1, to));
    setActive(next);
    reveal(tops[choices[next] ?? 0] ?? 0);
  };
  const key = (event: KeyboardEvent<HTMLInputElement>): void => {
    const to = steppedTo(event, lines, choices, active);
    if (to !== null) go(to);
    else if (event.key === "Enter" && value !== null && !event.nativeEvent.isComposing) onChoose(value, event);
    else if (event.key === "Backspace" && query === "" && onEmptyBackspace !== undefined) onEmptyBackspace();
    else if (event.key !== "Tab") return;
    event.preventDefault();
  };
  return (
    <>
      <div className={styles["field"]}>
        <Icon name="search" />
        <input
          type="text" role="combobox" aria-label={label} aria-expanded="true" aria-controls={`${id}-list`} aria-autocomplete="list"
          {...(chosen === undefined ? {} : { "aria-activedescendant": `${id}-${chosen}` })}
          value={query} placeholder={placeholder} autoComplete="off" spellCheck={false} autoFocus
          onChange={(event) => onQuery(event.target.value)} onKeyDown={key}
        />
      </div>
      {above}
      {choices.length === 0 && <div className={styles["empty"]} role="status">{empty}</div>}
      <div
        ref={list} id={`${id}-list`} role="listbox" aria-label={label} className={styles["list"]} hidden={choices.length === 0} tabIndex={-1}
        onScroll={see}
      >
        <div style={{ height }} role="presentation">
          {lines.map((one, index) => {
            const top = tops[index] ?? 0;
            const isSeen = top > seen.top - row * SPARE && top < seen.top + seen.height + row * SPARE;
            if (!isSeen && index !== chosen) return null;
            if ("heading" in one) return <div key={`heading ${one.heading}`} role="presentation" className={styles["heading"]} style={{ top }}>{one.heading}</div>;
            const at = choices.indexOf(index);
            return (
              <Line
                key={one.key} id={`${id}-${index}`} isChosen={index === chosen} top={top} height={row} at={at} of={choices.length}
                point={() => { if (index !== chosen) setActive(at); }} choose={(event) => onChoose(one.value, event)}
              >
                {line(one.value)}
              </Line>
            );
          })}
        </div>
      </div>
    </>
  );
}

interface Seen {
  readonly list: RefObject<HTMLDivElement | null>;
  /** The part of the list that is seen, in its pixels. */
  readonly seen: { readonly top: number; readonly height: number };
  see(event: UIEvent): void;
  /** Scroll to the line that begins there. */
  reveal(top: number): void;
}

/** What is seen of the list; another query is seen from its top. */
function useSeen(query: string, row: number): Seen {
  const list = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => { list.current?.scrollTo({ top: 0 }); setSeen((before) => ({ ...before, top: 0 })); }, [query]);
  return {
    list,
    seen,
    see: ({ currentTarget: { scrollTop, clientHeight } }) => setSeen({ top: scrollTop, height: clientHeight }),
    reveal(top) {
      const box = list.current;
      if (box === null) return;
      // The heading above the first line is shown with it.
      if (top < box.scrollTop + HEADING) box.scrollTop = top - HEADING;
      else if (top + row > box.scrollTop + box.clientHeight) box.scrollTop = top + row - box.clientHeight;
    },
  };
}

interface LineProps {
  readonly id: string;
  readonly isChosen: boolean;
  readonly top: number;
  readonly height: number;
  /** Its place among those that can be chosen. */
  readonly at: number;
  readonly of: number;
  readonly children: ReactNode;
  point(): void;
  choose(event: { readonly shiftKey: boolean }): void;
}

function Line({ id, isChosen, top, height, at, of, children, point, choose }: LineProps): ReactNode {
  return (
    <div
      id={id} role="option" aria-selected={isChosen} className={styles["row"]} style={{ top, height }} aria-setsize={of} aria-posinset={at + 1}
      onPointerMove={point} onClick={choose}
    >
      {children}
    </div>
  );
}

interface Layout {
  /** By line, in pixels. */
  readonly tops: readonly number[];
  /** The indices of lines that can be chosen. */
  readonly choices: readonly number[];
  readonly height: number;
}

function layout<T>(lines: readonly ListLine<T>[], row: number): Layout {
  const tops: number[] = [];
  const choices: number[] = [];
  let height = 0;
  for (const [index, line] of lines.entries()) {
    tops.push(height);
    if ("heading" in line) height += HEADING;
    else {
      choices.push(index);
      height += row;
    }
  }
  return { tops, choices, height };
}

/** The choice that a key goes to; null for other keys. */
function steppedTo<T>(event: KeyboardEvent, lines: readonly ListLine<T>[], choices: readonly number[], active: number): number | null {
  const isBySection = event.altKey || event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowDown": case "ArrowUp": {
      const isDown = event.key === "ArrowDown";
      return isBySection ? nextSection(lines, choices, active, isDown) : wrapped(event.key, active + (isDown ? 1 : -1), choices.length);
    }
    case "PageDown": return active + 8;
    case "PageUp": return active - 8;
    default: return null;
  }
}

/** From the last to the first and back, by single steps only. */
function wrapped(key: string, to: number, count: number): number {
  if (key === "ArrowDown" && to >= count) return 0;
  if (key === "ArrowUp" && to < 0) return count - 1;
  return to;
}

/** The first choice below the next heading, or below the one before. */
function nextSection<T>(lines: readonly ListLine<T>[], choices: readonly number[], active: number, isDown: boolean): number {
  const firsts = choices.flatMap((line, choice) => (line > 0 && "heading" in (lines[line - 1] ?? {}) ? [choice] : []));
  return (isDown ? firsts.find((one) => one > active) : firsts.findLast((one) => one < active)) ?? active;
}
