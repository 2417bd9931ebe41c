import { lazy } from "react";

import type { Panel } from "../panel";

const panel: Panel = {
  id: "sweep", title: "run.sweep_title", icon: "⊞", side: "right", order: 130, Component: lazy(() => import("./SweepPanel")),
};
export default panel;
