
import type { Panel } from "../panel";
import { later } from "../../ui/later";

const panel: Panel = {
  id: "queue", title: "run.queue_title", icon: "≡", side: "right", order: 100, Component: later(() => import("./QueuePanel")),
};
export default panel;
