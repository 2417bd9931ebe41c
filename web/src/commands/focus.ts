/** Where the focus is, as far as keys are concerned: in a field, on the canvas. */

/** The id of the element that is the canvas; it can have the focus. */
export const CANVAS = "canvas";

const SURFACE = "[data-surface]";

/** Put the focus on the canvas: on what takes its keys. */
export function focusTheCanvas(): void {
  const canvas = document.getElementById(CANVAS);
  (canvas?.querySelector<HTMLElement>(SURFACE) ?? canvas)?.focus({ preventScroll: true });
}

const NOT_TYPED_IN = new Set(["button", "checkbox", "color", "file", "image", "radio", "range", "reset", "submit"]);

/** Whether it is a field, which takes keys itself: of any kind, a slider too. */
export function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}

/** Whether keys pressed there are text. */
export function isTyping(target: EventTarget | null): boolean {
  return isField(target) && !(target instanceof HTMLInputElement && NOT_TYPED_IN.has(target.type));
}

/**
 * Whether keys go to the canvas: it has the focus itself, or was clicked last. Whoever came into it by Tab, to a node in it,
 * goes on by Tab.
 */
export function canvasHasTheFocus(): boolean {
  const canvas = document.getElementById(CANVAS);
  const active = document.activeElement;
  if (canvas === null) return false;
  if (active === canvas || active?.matches(SURFACE)) return true;
  if (active === null || active === document.body) return clickedLast !== null && canvas.contains(clickedLast);
  return canvas.contains(active) && !cameByTab && !isTyping(active);
}

let clickedLast: Node | null = null;
/** Not by `:focus-visible`: that is on with any key that is pressed after a click. */
let cameByTab = false;
let isTab = false;
if (typeof window !== "undefined") {
  window.addEventListener("pointerdown", (event) => {
    clickedLast = event.target instanceof Node ? event.target : null;
    cameByTab = isTab = false;
  }, true);
  window.addEventListener("keydown", (event) => { isTab = event.key === "Tab"; }, true);
  window.addEventListener("focusin", (event) => {
    if (isTab && event.target instanceof Node && document.getElementById(CANVAS)?.contains(event.target) === true) cameByTab = true;
  }, true);
}
