/** Parts that are asked for as soon as the page begins, beside the first frame. */

import { onceMore } from "./ui/later";

/** All commands, and what runs them. */
export const hands = onceMore(() => import("./hands"));
