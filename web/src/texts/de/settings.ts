import type en from "../en/settings";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
