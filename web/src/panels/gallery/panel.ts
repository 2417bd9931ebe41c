import { createElement, lazy } from "react";

import { Icon } from "../../ui/icons";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "gallery",
  title: "gallery.title",
  icon: createElement(Icon, { name: "gallery" }),
  side: "right",
  order: 20,
  Component: lazy(() => import("./Gallery").then(({ Gallery }) => ({ default: Gallery }))),
};
export default panel;
