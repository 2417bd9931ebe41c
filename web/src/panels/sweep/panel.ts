import { icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "sweep", title: "run.sweep_title", icon: icon("sweep"), side: "right", order: 130, Component: later(() => import("./SweepPanel")),
};
export default panel;
