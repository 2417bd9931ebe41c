import { lazy } from "react";

import type { Panel } from "../panel";

const panel: Panel = {
  id: "problems", title: "run.problems_title", icon: "!", side: "right", order: 120, Component: lazy(() => import("./ProblemsPanel")),
};
export default panel;
