import type en from "../en/run";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
