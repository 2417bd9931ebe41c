// stub: replaced by w-look
export interface PortEnd {
  readonly node: string;
  readonly port: string;
  readonly side: "input" | "output";
}
export interface AddNodeRequest {
  readonly at?: { readonly x: number; readonly y: number };
  readonly from?: PortEnd;
}
export function openAddNode(request: AddNodeRequest = {}): void {
  console.info("openAddNode", request);
}
