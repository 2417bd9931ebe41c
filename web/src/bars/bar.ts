/**
 * A part of the bar at the top. Every `bars/<Name>.tsx` has one as its default export: `{ place, order, Component }`.
 */

import type { ComponentType } from "react";

export interface Bar {
  readonly place: "left" | "middle" | "right";
  readonly order: number;
  readonly Component: ComponentType;
}

const modules = import.meta.glob<{ default: Bar }>("./*.tsx", { eager: true });

export const BARS: readonly Bar[] = Object.values(modules).map((module) => module.default).sort((a, b) => a.order - b.order);
