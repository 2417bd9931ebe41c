import { lazy } from "react";

import { icon } from "../../ui/icons";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "workflows",
  title: "documents.panel",
  icon: icon("workflows"),
  side: "left",
  order: 10,
  Component: lazy(() => import("./Workflows")),
};
export default panel;
