import type en from "../en/palette";
import type { Same } from "../same";

const texts: Same<typeof en> = {
  add_node: "Knoten hinzufügen",
  search_nodes: "Knotentypen, Anschlüsse, Pakete suchen ...",
  recent: "Zuletzt benutzt",
  most_used: "Am häufigsten benutzt",
  subgraphs: "Untergraphen dieses Dokuments",
  fitting: "Was passt",
  fits_to: "Nur was passt zu",
  show_all: "Alle zeigen",
  key_choose: "wählen",
  key_section: "nächste Kategorie",
  key_add: "hinzufügen",
  key_close: "schließen",
  nothing_found: "Kein Knotentyp heißt so. Versuchen Sie weniger Buchstaben, den Typ eines Anschlusses (image, latent) oder eine Kategorie.",
  nothing_fits: "Kein Knotentyp nimmt diesen Anschluss so, wie er ist.",
  not_loaded: "Die Knotentypen werden gelesen ...",
  of_pack: "Paket {pack}",
  about: "Über {type}",
  no_doc: "Dieser Knotentyp sagt nichts über sich.",
  inputs: "Eingänge",
  outputs: "Ausgänge",
  commands: "Befehle",
  search_commands: "Was möchten Sie tun?",
  no_command: "Diesen Befehl gibt es gerade nicht. Manche brauchen erst eine Auswahl.",
};
export default texts;
