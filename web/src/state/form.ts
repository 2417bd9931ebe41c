/**
 * Whether the form fills the page, as on a phone: asked for by `#form` in the address or by a button.
 *
 * In the fragment, beside the token of the printed link: the server takes no query for the page.
 */

import { create } from "zustand";

interface FormView {
  readonly isFull: boolean;
  setFull(isFull: boolean): void;
}

const ASKED = "form";

function fragment(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}

export const useFormView = create<FormView>()((set) => ({
  isFull: fragment().has(ASKED),
  setFull(isFull) {
    set({ isFull });
    // The address says it too: it can be kept as a link, and survives a reload.
    const parts = fragment();
    parts.delete(ASKED);
    const rest = [...(isFull ? [ASKED] : []), ...(parts.size > 0 ? [parts.toString()] : [])].join("&");
    history.replaceState(history.state, "", location.pathname + location.search + (rest === "" ? "" : `#${rest}`));
  },
}));
