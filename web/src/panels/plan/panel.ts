import { icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "plan", title: "run.plan_title", icon: icon("plan"), side: "right", order: 110, Component: later(() => import("./PlanPanel")),
};
export default panel;
