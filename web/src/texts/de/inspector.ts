import type en from "../en/inspector";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
