// Keeps the address and the state of the view in step, so that a link leads to the same view and
// "back" goes back.

import { effect } from "@preact/signals";

export interface Addressed {
  /** The address of the current view, after its `#`. */
  address: () => string;
  /** Shows the view of an address. */
  look: (text: string) => void;
  /** The part of the state that "back" restores: a change of it is a step in the history. */
  step: () => string;
  /** The address of the view that a page without an address shows. */
  first: string;
}

export function keepAddress({ address, look, step, first }: Addressed): void {
  // Percent encoding is undone where the parts are parsed.
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
