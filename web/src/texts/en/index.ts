/** All English texts, by area: every other language has the same. */

import canvas from "./canvas";
import colours from "./colours";
import commands from "./commands";
import documents from "./documents";
import edit from "./edit";
import gallery from "./gallery";
import inspector from "./inspector";
import layout from "./layout";
import nodes from "./nodes";
import palette from "./palette";
import parameters from "./parameters";
import run from "./run";
import settings from "./settings";
import widgets from "./widgets";

export const en = {
  canvas, colours, commands, documents, edit, gallery, inspector,
  layout, nodes, palette, parameters, run, settings, widgets,
} as const;
