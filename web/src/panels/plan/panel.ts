
import type { Panel } from "../panel";
import { later } from "../../ui/later";

const panel: Panel = {
  id: "plan", title: "run.plan_title", icon: "▹", side: "right", order: 110, Component: later(() => import("./PlanPanel")),
};
export default panel;
