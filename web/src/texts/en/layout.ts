export default {
  left: "Panels at the left",
  right: "Panels at the right",
  bar: "Document and run",
  canvas: "Canvas",
  skip: "Skip to the canvas",
  close: "Close {panel}",
  loading: "Loading ...",
  failed: "{part} has stopped working",
  failed_safe: "Your documents are safe: they are kept outside of it. Load this part again; if it fails again, undo your last step (Ctrl+Z) or tell us the details.",
  reload_part: "Reload the part",
  copy_details: "Copy the details",
} as const;
