import type en from "../en/widgets";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
