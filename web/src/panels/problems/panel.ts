
import type { Panel } from "../panel";
import { later } from "../../ui/later";

const panel: Panel = {
  id: "problems", title: "run.problems_title", icon: "!", side: "right", order: 120, Component: later(() => import("./ProblemsPanel")),
};
export default panel;
