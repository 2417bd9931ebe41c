/**
 * A panel at the side of the page. Every `panels/<name>/panel.ts` has one as its default export; its component is loaded
 * when it is first shown. `state/layout.ts` says which panels are shown.
 */

import type { ComponentType, ReactNode } from "react";

import type { TextKey } from "../texts";

export interface Panel {
  readonly id: string;
  readonly title: TextKey;
  /** The drawing on its button (`ui/icons.tsx`). */
  readonly icon: ReactNode;
  readonly side: "left" | "right";
  readonly order: number;
  readonly Component: ComponentType;
}

const modules = import.meta.glob<{ default: Panel }>("./*/panel.ts", { eager: true });

export const PANELS: readonly Panel[] = Object.values(modules).map((module) => module.default).sort((a, b) => a.order - b.order);
