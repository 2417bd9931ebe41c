import { lazy } from "react";

import type { Panel } from "../panel";

const panel: Panel = {
  id: "workflows",
  title: "documents.panel",
  icon: "☰",
  side: "left",
  order: 10,
  Component: lazy(() => import("./Workflows")),
};
export default panel;
