import { lazy } from "react";

import { icon } from "../../ui/icons";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "settings",
  title: "settings.panel",
  icon: icon("settings"),
  side: "left",
  order: 90,
  Component: lazy(async () => ({ default: (await import("./Settings")).Settings })),
};
export default panel;
