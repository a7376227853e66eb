// Choice of the source: the data is in the page itself, or the server that it was loaded from has it.

import { embedded } from "./embedded";
import { served } from "./served";
import type { Source } from "./source";

/** The source that the page says it has. */
export function sourceOfPage(): Source {
  return document.getElementById("app")?.dataset.source === "served" ? served() : embedded();
}
