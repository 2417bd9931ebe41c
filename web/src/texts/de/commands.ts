import type en from "../en/commands";
import type { Same } from "../same";

const texts: Same<typeof en> = {
  group: "Seite",
  show_commands: "Alle Befehle zeigen",
  show_shortcuts: "Alle Tasten zeigen",
  open_menu: "Menü öffnen",
  next_region: "Nächster Teil der Seite",
  previous_region: "Voriger Teil der Seite",
  inspector: "Inspektor zeigen oder verbergen",
  settings: "Einstellungen zeigen oder verbergen",
  find_keys: "Tasten und Befehle suchen ...",
  no_keys: "Kein Befehl heißt so, und keiner hat diese Tasten.",
  menu_of: "Menü: {what}",
  canvas: "Arbeitsfläche",
  node: "Knoten",
  note: "Notiz",
  wire: "Verbindung",
  port: "Anschluss",
  connect_port: "Verbinden ...",
  go_to_source: "Gehe zur Herkunft",
  go_to_target: "Gehe zum Ziel",
  remove_wires: "Seine Verbindungen entfernen",
  add_wire_point: "Verbindung über einen Punkt führen",
  straighten_wire: "Ihre Punkte entfernen",
  said_point: "Die Pfeiltasten bewegen den Punkt, Entf entfernt ihn.",
  remove_wire: "Verbindung entfernen",
  insert_on_wire: "Knoten in die Verbindung einfügen ...",
  on_canvas: "Auf der Arbeitsfläche",
  mouse_add: "Knoten hinzufügen: Doppelklick auf die Arbeitsfläche, oder eine Verbindung ins Leere ziehen",
  mouse_menu: "Menü: Rechtsklick, oder langer Druck mit dem Finger",
};
export default texts;
