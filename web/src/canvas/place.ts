import { createContext } from "react";

import type { ScopeId } from "../model/document";

/** Where the items that are shown belong: their scope, and the instances entered to see it. */
export const Place = createContext<{ readonly scope: ScopeId; readonly path: readonly string[] }>({ scope: "", path: [] });
