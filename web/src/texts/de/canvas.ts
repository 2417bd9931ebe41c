import type en from "../en/canvas";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
