import type en from "../en/colours";
import type { Same } from "../same";

const texts: Same<typeof en> = {
  grey: "Grau", red: "Rot", orange: "Orange", yellow: "Gelb", green: "Grün", teal: "Blaugrün", blue: "Blau", purple: "Violett", pink: "Rosa",
};
export default texts;
