import type en from "../en/layout";
import type { Same } from "../same";

const texts: Same<typeof en> = {
  left: "Leisten links",
  right: "Leisten rechts",
  bar: "Dokument und Lauf",
  canvas: "Arbeitsfläche",
  skip: "Zur Arbeitsfläche",
  close: "{panel} schließen",
  loading: "Wird geladen ...",
  failed: "{part} funktioniert nicht mehr",
  failed_safe: "Ihre Dokumente sind sicher: Sie liegen außerhalb davon. Laden Sie diesen Teil neu; schlägt es wieder fehl, machen Sie den letzten Schritt rückgängig (Strg+Z) oder schicken Sie uns die Einzelheiten.",
  reload_part: "Teil neu laden",
  copy_details: "Einzelheiten kopieren",
  close_dialog: "Schließen",
  cancel: "Abbrechen",
  ok: "OK",
};
export default texts;
