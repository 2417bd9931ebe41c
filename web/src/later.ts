/** Parts that are asked for as soon as the page begins, beside the first frame. */

import { later, persistently } from "./ui/lazily";

/** All commands, and what runs them. */
export const hands = later(() => persistently(() => import("./hands")));
