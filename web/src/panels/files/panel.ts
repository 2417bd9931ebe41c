import { createElement, lazy } from "react";

import { Icon } from "../../ui/icons";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "files",
  title: "gallery.files",
  icon: createElement(Icon, { name: "files" }),
  side: "right",
  order: 30,
  Component: lazy(() => import("./Files").then(({ Files }) => ({ default: Files }))),
};
export default panel;
