import { lazy } from "react";

import { icon } from "../../ui/icons";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "plan", title: "run.plan_title", icon: icon("plan"), side: "right", order: 110, Component: lazy(() => import("./PlanPanel")),
};
export default panel;
