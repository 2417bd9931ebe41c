import type en from "../en/nodes";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
