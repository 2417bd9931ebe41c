import { lazy } from "react";

import { icon } from "../../ui/icons";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "sweep", title: "run.sweep_title", icon: icon("sweep"), side: "right", order: 130, Component: lazy(() => import("./SweepPanel")),
};
export default panel;
