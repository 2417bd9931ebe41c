import type { Places } from "./align";

export interface LayoutNode {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}
export interface LayoutRequest {
  readonly nodes: readonly LayoutNode[];
  /** Node ids. */
  readonly links: readonly { readonly from: string; readonly to: string }[];
  /** Upper left corner of the result; 0, 0 if not given. */
  readonly at?: { readonly x: number; readonly y: number };
}

/** Places for `moveItems`, left to right along the links; made in a worker, so that the page stays free. */
export async function arrange(request: LayoutRequest): Promise<Places> {
  throw new Error(`soon: ${request.nodes.length}`);
}
