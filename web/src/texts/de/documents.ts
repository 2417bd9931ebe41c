import type en from "../en/documents";
import type { Same } from "../same";

const texts: Same<typeof en> = {};
export default texts;
