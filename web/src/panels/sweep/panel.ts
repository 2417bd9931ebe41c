
import type { Panel } from "../panel";
import { later } from "../../ui/later";

const panel: Panel = {
  id: "sweep", title: "run.sweep_title", icon: "⊞", side: "right", order: 130, Component: later(() => import("./SweepPanel")),
};
export default panel;
