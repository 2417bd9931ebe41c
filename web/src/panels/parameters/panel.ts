import { createElement } from "react";

import { Icon } from "../../ui/icons";
import type { Panel } from "../panel";
import { later } from "../../ui/later";

const panel: Panel = {
  id: "parameters",
  title: "parameters.title",
  icon: createElement(Icon, { name: "parameters" }),
  side: "right",
  order: 15,
  Component: later(() => import("./Parameters").then(({ Parameters }) => ({ default: Parameters }))),
};
export default panel;
