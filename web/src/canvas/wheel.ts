/** Wheels zoom, trackpads pan: both come as wheel events and are told apart by their steps. */

/** Whether a wheel event comes from two fingers on a trackpad (and is no pinch, which comes with Ctrl). */
export function isTrackpad(event: { readonly deltaX: number; readonly deltaY: number; readonly deltaMode: number; readonly ctrlKey: boolean; readonly shiftKey: boolean; readonly wheelDeltaY?: number }): boolean {
  if (event.ctrlKey || event.deltaMode !== 0) return false;
  if (event.deltaX !== 0 && !event.shiftKey) return true;
  // A wheel's notch is 120 in the old measure, whatever it scrolls.
  return event.wheelDeltaY !== undefined ? event.wheelDeltaY % 120 !== 0 : Math.abs(event.deltaY) < 40;
}
