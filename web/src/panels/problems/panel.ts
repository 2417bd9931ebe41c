import { icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "problems", title: "run.problems_title", icon: icon("problem"), side: "right", order: 120, Component: later(() => import("./ProblemsPanel")),
};
export default panel;
