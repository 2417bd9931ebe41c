import { lazy } from "react";

import { icon } from "../../ui/icons";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "queue", title: "run.queue_title", icon: icon("queue"), side: "right", order: 100, Component: lazy(() => import("./QueuePanel")),
};
export default panel;
