import { icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "queue", title: "run.queue_title", icon: icon("queue"), side: "right", order: 100, Component: later(() => import("./QueuePanel")),
};
export default panel;
