import { showTemplates } from "../documents/actions";
import type { Command } from "./command";

const show_templates: Command = {
  id: "show_templates",
  title: "documents.templates",
  group: "documents.group",
  run: showTemplates,
};
export default show_templates;
