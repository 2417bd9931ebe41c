/** Where the context menu appears; once in the page. */

import { type ReactNode, useMemo } from "react";

import { type MenuTarget, closeContextMenu, useMenu } from "../state/menu";
import { type TextKey, useTexts } from "../texts";
import { Menu } from "../ui/Menu";
import { entriesFor } from "./entries";

export function ContextMenu(): ReactNode {
  const t = useTexts();
  const open = useMenu((state) => state.open);
  const groups = useMemo(() => (open === null ? [] : entriesFor(open.target)), [open]);
  if (open === null || groups.length === 0) return null;
  return (
    <Menu
      key={`${open.at.x} ${open.at.y} ${open.target.kind}`} label={t("commands.menu_of", { what: t(TITLES[open.target.kind]) })}
      groups={groups} at={open.at} onClose={closeContextMenu}
    />
  );
}

const TITLES: { readonly [K in MenuTarget["kind"]]: TextKey } = {
  canvas: "commands.canvas", node: "commands.node", frame: "edit.new_frame", note: "commands.note", wire: "commands.wire", port: "commands.port",
  colours: "edit.colour", inputs: "edit.promote_input", outputs: "edit.promote_output",
};
