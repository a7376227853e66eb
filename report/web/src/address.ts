// The address and what is looked at, kept alike, so that a link leads to the same view and "back"
// goes back.

import { effect } from "@preact/signals";

export interface Addressed {
  /** The address for what is looked at, behind its `#`. */
  address: () => string;
  /** Looks at what an address says. */
  look: (text: string) => void;
  /** What "back" goes back over: another one is a step that it undoes, the rest is not. */
  step: () => string;
  /** The address of a page whose address says nothing. */
  first: string;
}

export function keepAddress({ address, look, step, first }: Addressed): void {
  // What it has in percent signs is undone where its parts are read.
  look(location.hash.slice(1));
  let last = step();
  let isGoingBack = false;
  effect(() => {
    const hash = `#${address()}`;
    const now = step();
    const isSame = hash === location.hash || (hash === `#${first}` && !location.hash);
    // Going back must not make a step of its own.
    if (!isSame && !isGoingBack) {
      if (now === last) history.replaceState(null, "", hash);
      else history.pushState(null, "", hash);
    }
    last = now;
  });
  addEventListener("popstate", () => {
    isGoingBack = true;
    look(location.hash.slice(1));
    isGoingBack = false;
  });
}
