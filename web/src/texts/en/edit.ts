export default {
  group: "Edit",
  undo: "Undo",
  redo: "Redo",
} as const;
