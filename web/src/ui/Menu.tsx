/** A menu at a point of the window: arrows, letters, Enter and Escape; one level of further menus. */

import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";

import { Icon, type IconName } from "./icons";
import styles from "./Menu.module.css";

export interface MenuItem {
  readonly id: string;
  readonly title: string;
  /** As shown. */
  readonly keys?: string;
  readonly icon?: IconName;
  /** A colour (of `tokens.css`) shown as a dot. */
  readonly color?: string;
  readonly isDisabled?: boolean;
  readonly isChecked?: boolean;
  readonly run?: () => void;
  /** Instead of running: a further menu. */
  readonly items?: readonly MenuItem[];
}

/** Groups of items, with a line between them. */
export type MenuGroups = readonly (readonly MenuItem[])[];

interface Props {
  readonly label: string;
  readonly groups: MenuGroups;
  readonly at: { readonly x: number; readonly y: number };
  readonly onClose: () => void;
}

export function Menu({ label, groups, at, onClose }: Props): ReactNode {
  const shade = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const outside = (event: PointerEvent): void => {
      if (event.target instanceof Node && shade.current?.contains(event.target) === false) onClose();
    };
    window.addEventListener("pointerdown", outside, true);
    window.addEventListener("blur", onClose);
    window.addEventListener("resize", onClose);
    return () => {
      window.removeEventListener("pointerdown", outside, true);
      window.removeEventListener("blur", onClose);
      window.removeEventListener("resize", onClose);
      if (before instanceof HTMLElement && (document.activeElement === null || document.activeElement === document.body)) {
        before.focus({ preventScroll: true });
      }
    };
  }, [onClose]);
  return (
    <div ref={shade} onContextMenu={(event) => event.preventDefault()}>
      <Level label={label} groups={groups.filter((group) => group.length > 0)} at={at} onClose={onClose} onBack={onClose} />
    </div>
  );
}

interface LevelProps extends Props {
  /** Escape, and for a further menu the left arrow. */
  readonly onBack: () => void;
  readonly isFurther?: boolean;
}

function Level({ label, groups, at, onClose, onBack, isFurther = false }: LevelProps): ReactNode {
  const list = useRef<HTMLDivElement>(null);
  const [further, setFurther] = useState<{ item: MenuItem; at: { x: number; y: number } } | null>(null);
  const place = usePlace(list, at, isFurther);
  useEffect(() => buttons(list.current)[0]?.focus({ preventScroll: true }), []);

  const open = (item: MenuItem, button: HTMLElement): void => {
    const box = button.getBoundingClientRect();
    setFurther({ item, at: { x: box.right - 2, y: box.top - 5 } });
  };
  const choose = (item: MenuItem, button: HTMLElement): void => {
    if (item.items !== undefined) return open(item, button);
    onClose();
    item.run?.();
  };
  const key = (event: KeyboardEvent): void => {
    event.stopPropagation();
    const all = buttons(list.current);
    const index = all.findIndex((one) => one === document.activeElement);
    const to = target(event.key, index, all);
    if (to !== undefined) to.focus();
    else if (event.key === "Escape" || event.key === "Tab" || (isFurther && event.key === "ArrowLeft")) onBack();
    else if (event.key === "ArrowRight" && all[index]?.getAttribute("aria-haspopup") === "menu") all[index].click();
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div ref={list} role="menu" aria-label={label} className={styles["menu"]} style={place} onKeyDown={key}>
        {groups.map((group, number) => (
          <div key={group[0]?.id ?? number} role="group" className={styles["group"]}>
            {group.map((item) => (
              <Item
                key={item.id} item={item} isOpen={further?.item.id === item.id}
                onChoose={(button) => choose(item, button)}
                onPoint={(button) => {
                  if (document.activeElement !== button) button.focus({ preventScroll: true });
                  if (item.items !== undefined) open(item, button);
                  else setFurther(null);
                }}
              />
            ))}
          </div>
        ))}
      </div>
      {further?.item.items !== undefined && (
        <Level
          key={further.item.id} label={further.item.title} groups={[further.item.items]} at={further.at} onClose={onClose} isFurther
          onBack={() => {
            const button = buttons(list.current).find((one) => one.dataset["id"] === further.item.id);
            setFurther(null);
            button?.focus();
          }}
        />
      )}
    </>
  );
}

interface ItemProps {
  readonly item: MenuItem;
  readonly isOpen: boolean;
  readonly onChoose: (button: HTMLElement) => void;
  readonly onPoint: (button: HTMLElement) => void;
}

function Item({ item, isOpen, onChoose, onPoint }: ItemProps): ReactNode {
  const hasMore = item.items !== undefined;
  return (
    <button
      type="button" data-id={item.id} className={styles["item"]} tabIndex={-1} aria-disabled={item.isDisabled ?? false}
      {...(item.isChecked === undefined ? { role: "menuitem" } : { role: "menuitemcheckbox", "aria-checked": item.isChecked })}
      {...(hasMore ? { "aria-haspopup": "menu" as const, "aria-expanded": isOpen } : {})}
      onClick={(event) => { if (!item.isDisabled) onChoose(event.currentTarget); }}
      onPointerEnter={(event) => { if (event.pointerType === "mouse") onPoint(event.currentTarget); }}
    >
      <span className={styles["mark"]}>
        {item.color !== undefined && <span className={styles["dot"]} style={{ background: item.color }} />}
        {item.color === undefined && item.icon !== undefined && <Icon name={item.icon} size={16} />}
        {item.isChecked === true && item.color === undefined && <Icon name="check" size={16} />}
      </span>
      <span className={styles["title"]}>{item.title}</span>
      {item.isChecked === true && item.color !== undefined && <Icon name="check" size={14} />}
      {item.keys !== undefined && <span className={styles["keys"]}>{item.keys}</span>}
      {hasMore && <Icon name="right" size={14} />}
    </button>
  );
}

function buttons(list: HTMLElement | null): readonly HTMLButtonElement[] {
  return [...(list?.querySelectorAll<HTMLButtonElement>("button") ?? [])];
}

/** The item a key goes to. */
function target(key: string, index: number, all: readonly HTMLButtonElement[]): HTMLButtonElement | undefined {
  if (key === "ArrowDown") return all[(index + 1) % all.length];
  if (key === "ArrowUp") return all[(index - 1 + all.length) % all.length];
  if (key === "Home") return all[0];
  if (key === "End") return all.at(-1);
  if (key.length !== 1 || key === " ") return undefined;
  const letter = key.toLowerCase();
  return [...all.slice(index + 1), ...all.slice(0, index + 1)].find((one) => one.textContent?.toLowerCase().startsWith(letter));
}

/** Inside the window, wherever it was opened. */
function usePlace(list: React.RefObject<HTMLDivElement | null>, at: { x: number; y: number }, isFurther: boolean): { left: number; top: number } {
  const [place, setPlace] = useState({ left: at.x, top: at.y });
  useLayoutEffect(() => {
    const box = list.current?.getBoundingClientRect();
    if (box === undefined) return;
    const toLeft = isFurther ? at.x - box.width - 190 : window.innerWidth - box.width - 8;
    const left = at.x + box.width > window.innerWidth - 8 ? toLeft : at.x;
    setPlace({ left: Math.max(8, left), top: Math.max(8, Math.min(at.y, window.innerHeight - box.height - 8)) });
  }, [list, at.x, at.y, isFurther]);
  return place;
}
