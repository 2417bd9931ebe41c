/** The dialogs of documents, of which the code comes when one is shown. */

import { later } from "../ui/later";

const parts = (): Promise<typeof import("./parts")> => import("./parts");

export const CloseDialog = later(async () => ({ default: (await parts()).CloseDialog }));
export const ConflictDialog = later(async () => ({ default: (await parts()).ConflictDialog }));
export const FlawsDialog = later(async () => ({ default: (await parts()).FlawsDialog }));
export const NameDialog = later(async () => ({ default: (await parts()).NameDialog }));
export const SessionPage = later(async () => ({ default: (await parts()).SessionPage }));
export const Templates = later(async () => ({ default: (await parts()).Templates }));
export const TemplatesDialog = later(async () => ({ default: (await parts()).TemplatesDialog }));
export const VersionsDialog = later(async () => ({ default: (await parts()).VersionsDialog }));
