import type en from "../en/commands";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
