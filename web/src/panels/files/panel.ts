import { createElement } from "react";

import { Icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "files",
  title: "gallery.files",
  icon: createElement(Icon, { name: "files" }),
  side: "right",
  order: 30,
  Component: later(async () => ({ default: (await import("./Files")).Files })),
};
export default panel;
