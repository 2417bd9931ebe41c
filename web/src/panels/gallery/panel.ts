import { createElement } from "react";

import { Icon } from "../../ui/icons";
import type { Panel } from "../panel";
import { later } from "../../ui/later";

const panel: Panel = {
  id: "gallery",
  title: "gallery.title",
  icon: createElement(Icon, { name: "gallery" }),
  side: "right",
  order: 20,
  Component: later(() => import("./Gallery").then(({ Gallery }) => ({ default: Gallery }))),
};
export default panel;
