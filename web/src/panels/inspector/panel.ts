import { icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "inspector",
  title: "inspector.panel",
  icon: icon("inspect"),
  side: "right",
  order: 10,
  Component: later(async () => ({ default: (await import("./Inspector")).Inspector })),
};
export default panel;
