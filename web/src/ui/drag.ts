/** Follow the pointer that was just pressed until it is let go, wherever it goes. */
export function whilePressed(move: (event: PointerEvent) => void): void {
  const end = (): void => {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", end);
    window.removeEventListener("pointercancel", end);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end);
  window.addEventListener("pointercancel", end);
}
