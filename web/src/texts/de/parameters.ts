import type en from "../en/parameters";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
