import type en from "../en/edit";
import type { Same } from "../same";

const texts: Same<typeof en> = {
  group: "Bearbeiten",
  undo: "Rückgängig",
  redo: "Wiederholen",
};
export default texts;
