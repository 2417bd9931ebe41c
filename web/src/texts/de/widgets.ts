import type en from "../en/widgets";
import type { Same } from "../same";

const texts: Same<typeof en> = {
  automatic: "automatisch",
  needed: "nötig",
  random: "zufällig",
  on: "an",
  off: "aus",
  defaultIs: "{value} (Vorgabe)",
  missing: "{value} (fehlt)",
  drawSeed: "{label}: bei jedem Lauf neu ziehen",
  seedIsDrawn: "Bei jedem Lauf ein neuer Startwert; drücken, um einen zu behalten",
  seedIsFixed: "Ein fester Startwert; drücken, um bei jedem Lauf einen zu ziehen",
  sending: "wird gesendet …",
  chooseFile: "Datei wählen oder ablegen",
  fileMissing: "nicht auf diesem Server",
  flawRange: "{label} bekam {found}; möglich ist {low} bis {high}.",
  flawWhole: "{label} bekam {found}; möglich sind ganze Zahlen bis 9007199254740991.",
  flawNumber: "{label} bekam „{found}“; das ist keine Zahl.",
  flawList: "{label} nimmt Zahlen mit Kommas dazwischen.",
};
export default texts;
