import { lazy } from "react";

import { icon } from "../../ui/icons";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "problems", title: "run.problems_title", icon: icon("problem"), side: "right", order: 120, Component: lazy(() => import("./ProblemsPanel")),
};
export default panel;
