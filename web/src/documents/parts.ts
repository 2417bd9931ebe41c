/** What `later.ts` fetches in one piece. */

export { CloseDialog } from "./CloseDialog";
export { ConflictDialog } from "./Conflicts";
export { FlawsDialog } from "./FlawsDialog";
export { NameDialog } from "./NameDialog";
export { SessionPage } from "./SessionPage";
export { Templates } from "./Templates";
export { TemplatesDialog } from "./TemplatesDialog";
export { VersionsDialog } from "./VersionsDialog";
