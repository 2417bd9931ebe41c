// stub: replaced by w-look
import type { Point } from "./camera";

export type MenuTarget =
  | { readonly kind: "canvas"; readonly at?: Point }
  | { readonly kind: "node" | "frame" | "note"; readonly id: string }
  | { readonly kind: "wire"; readonly to: string; readonly at?: Point };

export function openContextMenu(menu: { readonly at: Point; readonly target: MenuTarget }): void {
  void menu;
}
