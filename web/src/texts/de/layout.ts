import type en from "../en/layout";
import type { Same } from "../same";

const texts: Same<typeof en> = { left: "Leisten links", right: "Leisten rechts" };
export default texts;
