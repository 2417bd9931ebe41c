import "./ui/tokens.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./App";
import { start } from "./start";
import { whenTexts } from "./state/preferences";

const root = document.getElementById("root");
// In the language chosen from the first frame on; English is there already.
void whenTexts().then(() => {
  if (root !== null) createRoot(root).render(<StrictMode><App /></StrictMode>);
});
void start();
