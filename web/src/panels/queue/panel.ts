import { lazy } from "react";

import type { Panel } from "../panel";

const panel: Panel = {
  id: "queue", title: "run.queue_title", icon: "≡", side: "right", order: 100, Component: lazy(() => import("./QueuePanel")),
};
export default panel;
