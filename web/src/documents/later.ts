/** The dialogs of documents, of which the code comes when one is shown. */

import { lazily } from "../ui/lazily";

const parts = (): Promise<typeof import("./parts")> => import("./parts");

export const CloseDialog = lazily(async () => (await parts()).CloseDialog);
export const ConflictDialog = lazily(async () => (await parts()).ConflictDialog);
export const FlawsDialog = lazily(async () => (await parts()).FlawsDialog);
export const NameDialog = lazily(async () => (await parts()).NameDialog);
export const SessionPage = lazily(async () => (await parts()).SessionPage);
export const Templates = lazily(async () => (await parts()).Templates);
export const TemplatesDialog = lazily(async () => (await parts()).TemplatesDialog);
export const VersionsDialog = lazily(async () => (await parts()).VersionsDialog);
