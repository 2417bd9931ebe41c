import type en from "../en/parameters";
import type { Same } from "../same";

const texts: Same<typeof en> = {
  title: "Parameter",
  form: "Formular: nur die Parameter und das Ergebnis",
  form_short: "Formular",
  full: "Ganze Seite",
  canvas: "Leinwand",
  result_here: "Hier erscheint das Ergebnis.",
  empty: "Noch keine Parameter",
  empty_more: "Geben Sie Eingängen dieses Workflows einen Namen, und sie werden zu einem Formular, hier und auf dem Telefon; dieselben Namen gelten auf der Kommandozeile und in der API.",
  add: "Feld hinzufügen",
  remove: "Aus dem Formular nehmen",
  field_actions: "Mehr zu {label}",
  lost: "Dieses Feld gehört zu {to}, und das gibt es im Workflow nicht mehr. Nehmen Sie es heraus, oder holen Sie den Knoten zurück.",
  run: "Ausführen",
  cancel: "Abbrechen",
  queued: "Wartet, bis es an der Reihe ist",
  running: "Läuft",
  step: "{node}: Schritt {step} von {total}",
  progress: "Fortschritt",
  failed: "Der Lauf ist fehlgeschlagen. Die Leinwand zeigt, wo.",
  step_fill: "Parameter ausfüllen",
  step_add: "Feld zum Formular hinzufügen",
  step_remove: "Feld aus dem Formular nehmen",
};
export default texts;
