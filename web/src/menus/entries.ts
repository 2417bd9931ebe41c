/** What stands in the context menus: commands that can be run now, in groups. */

import { colourSelection } from "../commands/colouring";
import type { Command } from "../commands/command";
import { type Here, chosenNodes, here } from "../commands/here";
import { shownKeys } from "../commands/keys";
import { namableInputs, namableOutputs, promoteInput, promoteOutput } from "../commands/promoting";
import { COMMANDS } from "../commands/registry";
import { COLOURS } from "../model/document";
import { nodeViewOf, viewOf } from "../model/view";
import { type MenuTarget, chooseFor } from "../state/menu";
import { t } from "../texts";
import type { IconName } from "../ui/icons";
import type { MenuGroups, MenuItem } from "../ui/Menu";

const ARRANGE = [
  "align_left", "align_center", "align_right", "align_top", "align_middle", "align_bottom", "distribute_horizontal", "distribute_vertical",
  "layout_selection",
];
/** "@..." is a further menu. Ids that are no command are passed over: a part of the page may be absent. */
const MENUS: { readonly [K in MenuTarget["kind"]]?: readonly (readonly string[])[] } = {
  canvas: [
    ["add_node", "add_note"],
    ["paste", "paste_with_links"],
    ["undo", "redo"],
    ["select_all", "layout_all", "fit"],
    ["leave_subgraph"],
    ["show_commands"],
  ],
  node: [
    ["run_here", "run_output"],
    ["copy", "cut", "duplicate", "delete_items", "delete_and_heal"],
    ["mute", "bypass", "collapse"],
    ["rename", "@colours", "@inputs", "@outputs"],
    ["@arrange", "frame_selection", "select_upstream", "select_downstream"],
    ["enter_subgraph", "make_subgraph", "unpack_subgraph"],
    ["inspector"],
  ],
  frame: [
    ["rename", "@colours"],
    ["mute", "bypass", "collapse"],
    ["copy", "cut", "duplicate", "delete_items"],
    ["@arrange", "make_subgraph"],
  ],
  note: [["@colours"], ["copy", "cut", "duplicate", "delete_items"], ["@arrange", "frame_selection"]],
  wire: [["insert_on_wire", "remove_wire"], ["add_wire_point", "straighten_wire"], ["go_to_source", "go_to_target"]],
  port: [["connect_port", "go_to_source", "go_to_target"], ["insert_on_wire", "add_wire_point", "straighten_wire"], ["remove_wire", "remove_wires"]],
};

const ICONS: { readonly [id: string]: IconName } = {
  add_node: "add", add_note: "note", copy: "copy", delete_items: "trash", undo: "undo", redo: "redo", rename: "edit", frame_selection: "frame",
  make_subgraph: "subgraph", inspector: "inspect", insert_on_wire: "add", remove_wire: "trash", remove_wires: "trash", connect_port: "link", run_here: "run", fit: "fit", show_commands: "search",
};

export function entriesFor(target: MenuTarget): MenuGroups {
  const at = here();
  if (at === null) return [];
  if (target.kind === "colours") return [colours(at)];
  if (target.kind === "inputs") return [inputs(at)];
  if (target.kind === "outputs") return [outputs(at)];
  const listed = MENUS[target.kind] ?? [];
  const all = new Set(listed.flat());
  const others = [...COMMANDS.values()].filter(({ id, menus }) => !all.has(id) && menus?.some((kind) => kind === target.kind));
  const groups = listed.map((group) => group.flatMap((id) => (id.startsWith("@") ? further(id, at, target) : item(COMMANDS.get(id), at, target))));
  return [...groups, others.flatMap((command) => item(command, at, target))].filter((group) => group.length > 0);
}

function item(command: Command | undefined, at: Here, target: MenuTarget): MenuItem[] {
  if (command === undefined || command.enabled?.() === false) return [];
  const [keys, drawing, checked] = [command.keys?.[0], ICONS[command.id], isChecked(command.id, at)];
  return [{
    id: command.id,
    title: t(command.title),
    run: () => chooseFor(target, () => void command.run()),
    ...(keys === undefined ? {} : { keys: shownKeys(keys) }),
    ...(drawing === undefined ? {} : { icon: drawing }),
    ...(checked === undefined ? {} : { isChecked: checked }),
  }];
}

/** For what is on or off: whether it is on for all that is chosen. */
function isChecked(id: string, at: Here): boolean | undefined {
  const nodes = chosenNodes(at);
  if (id === "mute") return nodes.every((node) => at.scope.nodes[node]?.state === "muted");
  if (id === "bypass") return nodes.every((node) => at.scope.nodes[node]?.state === "bypassed");
  if (id === "collapse") return nodes.every((node) => nodeViewOf(at.scope, node).collapsed === true);
  return undefined;
}

function further(id: string, at: Here, target: MenuTarget): MenuItem[] {
  const [title, items] =
    id === "@colours" ? [t("edit.colour"), colours(at)]
    : id === "@inputs" ? [t("edit.promote_input"), inputs(at)]
    : id === "@outputs" ? [t("edit.promote_output"), outputs(at)]
    : [t("edit.arrange"), ARRANGE.flatMap((one) => item(COMMANDS.get(one), at, target))];
  return items.length === 0 ? [] : [{ id, title: title.replace(/ \.\.\.$/, ""), items }];
}

function colours(at: Here): MenuItem[] {
  const { nodes, frames, notes } = viewOf(at.scope);
  const now = [
    ...at.nodes.map((id) => nodes[id]?.color),
    ...frames.filter(({ id }) => at.frames.includes(id)).map((box) => box.color),
    ...notes.filter(({ id }) => at.notes.includes(id)).map((box) => box.color),
  ];
  const choice = (color: string | null, title: string): MenuItem => ({
    id: color ?? "none",
    title,
    isChecked: now.length > 0 && now.every((one) => (one ?? null) === color),
    run: () => colourSelection(color),
    ...(color === null ? {} : { color: `var(--c-${color})` }),
  });
  return [choice(null, t("edit.no_colour")), ...COLOURS.map((color) => choice(color, t(`colours.${color}`)))];
}

function inputs(at: Here): MenuItem[] {
  return at.nodes.flatMap((id) => namableInputs(at, id)).map((port) => ({ id: port, title: shown(port, at), run: () => promoteInput(port) }));
}

function outputs(at: Here): MenuItem[] {
  return at.nodes.flatMap((id) => namableOutputs(at, id)).map((port) => ({ id: port, title: shown(port, at), run: () => promoteOutput(port) }));
}

function shown(port: string, at: Here): string {
  return at.nodes.length === 1 ? port.slice(port.indexOf(".") + 1) : port;
}
