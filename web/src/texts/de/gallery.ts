import type en from "../en/gallery";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
