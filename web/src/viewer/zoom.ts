/** Zoom and pan of a picture in a frame: pure numbers. The picture's middle lies at the frame's middle plus (x, y). */

export interface Zoom {
  /** Screen pixels per pixel of the picture; "fit" follows the frame. */
  readonly scale: number | "fit";
  readonly x: number;
  readonly y: number;
}
export interface Size {
  readonly width: number;
  readonly height: number;
}
export interface Point {
  readonly x: number;
  readonly y: number;
}

export const FIT: Zoom = { scale: "fit", x: 0, y: 0 };
export const ACTUAL: Zoom = { scale: 1, x: 0, y: 0 };
const LEAST = 0.02;
const MOST = 64;
/** A small picture is enlarged to fill the frame, but no more than so many times. */
const MOST_FIT = 8;

export function fitScale(picture: Size, frame: Size): number {
  if (picture.width <= 0 || picture.height <= 0) return 1;
  return Math.min(MOST_FIT, frame.width / picture.width, frame.height / picture.height);
}

export function scaleOf(zoom: Zoom, picture: Size, frame: Size): number {
  return zoom.scale === "fit" ? fitScale(picture, frame) : zoom.scale;
}

/** Closer by a factor; what lies at `at` (from the frame's middle) stays there. */
export function zoomed(zoom: Zoom, factor: number, at: Point, picture: Size, frame: Size): Zoom {
  const before = scaleOf(zoom, picture, frame);
  const scale = Math.min(MOST, Math.max(LEAST, before * factor));
  const ratio = scale / before;
  return kept({ scale, x: at.x - (at.x - zoom.x) * ratio, y: at.y - (at.y - zoom.y) * ratio }, picture, frame);
}

export function panned(zoom: Zoom, by: Point, picture: Size, frame: Size): Zoom {
  return kept({ scale: zoom.scale, x: zoom.x + by.x, y: zoom.y + by.y }, picture, frame);
}

/** Some of the picture stays in the frame, whatever the pan. */
function kept(zoom: Zoom, picture: Size, frame: Size): Zoom {
  const scale = scaleOf(zoom, picture, frame);
  const bound = (value: number, side: number, room: number): number => {
    const most = Math.max(0, (side * scale + room) / 2 - 40);
    return Math.min(most, Math.max(-most, value));
  };
  return { scale: zoom.scale, x: bound(zoom.x, picture.width, frame.width), y: bound(zoom.y, picture.height, frame.height) };
}
