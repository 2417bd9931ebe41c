/** A long press by finger is a request for the menu, as it is by itself only on some systems. */

const LONG_MS = 500;
/** A finger is never quite still. */
const STILL_PX = 10;

/** Listen from now on; the function that ends it. */
export function listenToTouches(target: Window | HTMLElement = window): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let begun: PointerEvent | null = null;
  /** The menu is there and the finger still down: lifting it chooses nothing. */
  let isHeld = false;
  const end = (): void => {
    clearTimeout(timer);
    begun = null;
  };
  const down = (event: Event): void => {
    end();
    isHeld = false;
    if (!isTouch(event) || !(event.target instanceof Element) || event.target.closest("#canvas") === null) return;
    if (!event.isPrimary || event.target.closest("input, textarea, select") !== null) return;
    begun = event;
    timer = setTimeout(() => ask(event), LONG_MS);
  };
  const ask = (event: PointerEvent): void => {
    end();
    isHeld = true;
    const { clientX, clientY } = event;
    event.target?.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true, clientX, clientY }));
  };
  const moved = (event: Event): void => {
    if (begun === null || !(event instanceof PointerEvent)) return;
    if (Math.hypot(event.clientX - begun.clientX, event.clientY - begun.clientY) > STILL_PX) end();
  };
  // The system's own menu event came first: one is enough.
  const asked = (event: Event): void => {
    if (!event.isTrusted) return;
    isHeld ||= begun !== null;
    end();
  };
  // Else the browser makes a click of it, on what of the menu came to lie below the finger.
  const lifted = (event: Event): void => {
    if (isHeld && event.cancelable) event.preventDefault();
    isHeld = false;
  };
  const listeners = [["pointerdown", down], ["pointermove", moved], ["pointerup", end], ["pointercancel", end], ["contextmenu", asked]] as const;
  for (const [name, listener] of listeners) target.addEventListener(name, listener, true);
  target.addEventListener("touchend", lifted, { capture: true, passive: false });
  return () => {
    end();
    for (const [name, listener] of listeners) target.removeEventListener(name, listener, true);
    target.removeEventListener("touchend", lifted, true);
  };
}

function isTouch(event: Event): event is PointerEvent {
  return event instanceof PointerEvent && event.pointerType === "touch";
}
