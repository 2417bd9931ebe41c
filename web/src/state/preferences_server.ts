/** The preferences are kept by the server, once there is a session. */

import { Problem, readPreferences, savePreferences, sentence } from "../api/client";
import { whenSession } from "../api/session";
import { t } from "../texts";
import { say } from "../ui/toasts";
import { type Keeper, sendPreferences, syncPreferences } from "./preferences";

const server: Keeper = {
  async read() {
    const { value, etag } = await readPreferences();
    return { values: value, etag: etag ?? "" };
  },
  async save(values, etag) {
    try {
      return { etag: (await savePreferences(values, etag)).etag ?? "" };
    } catch (error) {
      if (error instanceof Problem && error.status === 412) return "changed";
      throw error;
    }
  },
};

const AGAIN_MS = 5000;

/** Keep them there from now on; the function that ends it. */
export function keepPreferences(): () => void {
  let isOver = false;
  const begin = async (): Promise<void> => {
    await whenSession();
    if (isOver) return;
    try {
      await syncPreferences(server);
    } catch (error) {
      // The copy in this browser does meanwhile.
      if (error instanceof Problem && error.isPassing) setTimeout(() => void begin(), AGAIN_MS);
      else say(t("settings.not_kept", { reason: sentence(error) }), { kind: "warn" });
    }
  };
  const leave = (): void => void sendPreferences().catch(() => undefined);
  void begin();
  window.addEventListener("pagehide", leave);
  return () => {
    isOver = true;
    window.removeEventListener("pagehide", leave);
  };
}
