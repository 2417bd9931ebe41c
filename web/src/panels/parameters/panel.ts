import { createElement } from "react";

import { Icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "parameters",
  title: "parameters.title",
  icon: createElement(Icon, { name: "parameters" }),
  side: "right",
  order: 15,
  Component: later(async () => ({ default: (await import("./Parameters")).Parameters })),
};
export default panel;
