import type { Command } from "./command";
import { here } from "./here";
import { layOut } from "./laying_out";

const command: Command = {
  id: "layout_all",
  title: "edit.layout_all",
  group: "edit.arrange",
  keys: ["Mod+Shift+F"],
  enabled: () => Object.keys(here()?.scope.nodes ?? {}).length > 1,
  run: () => layOut(Object.keys(here()?.scope.nodes ?? {}), "edit.layout_all"),
};
export default command;
