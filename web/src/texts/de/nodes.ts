import type en from "../en/nodes";
import type { Same } from "../same";

const texts: Same<typeof en> = {
  collapse: "Einklappen",
  expand: "Ausklappen",
  title: "Titel",
  muted: "stumm",
  bypassed: "umgangen",
  missingTag: "fehlt",
  notInstalled: "Kein Knotentyp „{type}“ ist installiert. Der Knoten behält, was er enthält; installieren Sie das Paket dazu und laden Sie neu.",
  input: "{name}: Eingang, {type}",
  optionalInput: "{name}: freiwilliger Eingang, {type}",
  linkedInput: "{name}: Eingang, {type}, verbunden mit {link}",
  output: "{name}: Ausgang, {type}",
  namedInput: "Benannter Eingang „{name}“ des Arbeitsablaufs",
  namedOutput: "Benannter Ausgang „{name}“ des Arbeitsablaufs",
  comesFrom: "Kommt von {link}",
};
export default texts;
