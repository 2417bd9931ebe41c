import { createElement } from "react";

import { Icon } from "../../ui/icons";
import type { Panel } from "../panel";
import { later } from "../../ui/later";

const panel: Panel = {
  id: "files",
  title: "gallery.files",
  icon: createElement(Icon, { name: "files" }),
  side: "right",
  order: 30,
  Component: later(() => import("./Files").then(({ Files }) => ({ default: Files }))),
};
export default panel;
