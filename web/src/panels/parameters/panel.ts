import { createElement, lazy } from "react";

import { Icon } from "../../ui/icons";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "parameters",
  title: "parameters.title",
  icon: createElement(Icon, { name: "parameters" }),
  side: "right",
  order: 15,
  Component: lazy(() => import("./Parameters").then(({ Parameters }) => ({ default: Parameters }))),
};
export default panel;
