/**
 * A panel at the side of the page. Every `panels/<name>/panel.ts` has one as its default export; its component is loaded
 * when it is first shown. `state/layout.ts` says which panels are shown.
 */

import type { ComponentType, LazyExoticComponent } from "react";

import type { TextKey } from "../texts";

export interface Panel {
  readonly id: string;
  readonly title: TextKey;
  /** One or two characters, or an emoji-free symbol, on its button. */
  readonly icon: string;
  readonly side: "left" | "right";
  readonly order: number;
  readonly Component: LazyExoticComponent<ComponentType>;
}

const modules = import.meta.glob<{ default: Panel }>("./*/panel.ts", { eager: true });

export const PANELS: readonly Panel[] = Object.values(modules).map((module) => module.default).sort((a, b) => a.order - b.order);
