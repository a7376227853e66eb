// Choice of the source: the page itself, or the server that it was loaded from.

import { embedded } from "./embedded";
import { served } from "./served";
import type { Source } from "./source";

/** The source that the page declares. */
export function sourceOfPage(): Source {
  return document.getElementById("app")?.dataset.source === "served" ? served() : embedded();
}
