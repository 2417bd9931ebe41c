import type en from "../en/palette";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
