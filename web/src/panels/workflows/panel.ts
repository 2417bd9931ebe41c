import { icon } from "../../ui/icons";
import { later } from "../../ui/later";
import type { Panel } from "../panel";

const panel: Panel = {
  id: "workflows",
  title: "documents.panel",
  icon: icon("workflows"),
  side: "left",
  order: 10,
  Component: later(() => import("./Workflows")),
};
export default panel;
