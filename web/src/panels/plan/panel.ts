import { lazy } from "react";

import type { Panel } from "../panel";

const panel: Panel = {
  id: "plan", title: "run.plan_title", icon: "▹", side: "right", order: 110, Component: lazy(() => import("./PlanPanel")),
};
export default panel;
