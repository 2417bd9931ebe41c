import { useTexts } from "../texts";
import { Dialog, closeDialog } from "../ui/dialogs";
import { Templates } from "./Templates";

export function TemplatesDialog(): React.ReactNode {
  const t = useTexts();
  return (
    <Dialog title={t("documents.templates")} size="l">
      <Templates onChosen={closeDialog} />
    </Dialog>
  );
}
