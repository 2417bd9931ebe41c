import { createElement } from "react";

import { Icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "gallery",
  title: "gallery.title",
  icon: createElement(Icon, { name: "gallery" }),
  side: "right",
  order: 20,
  Component: later(async () => ({ default: (await import("./Gallery")).Gallery })),
};
export default panel;
