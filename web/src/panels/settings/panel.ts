import { icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "settings",
  title: "settings.panel",
  icon: icon("settings"),
  side: "left",
  order: 90,
  Component: later(async () => ({ default: (await import("./Settings")).Settings })),
};
export default panel;
