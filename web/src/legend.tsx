// What the colours of nodes mean.

import { scale } from "./colors";
import { duration } from "./format";

/** The shades with the times that they are for, as entries of a legend. */
export function Shades() {
  const shades = scale();
  if (shades.length === 0) return null;
  return (
    <li class="shades">
      mean time of a node
      {shades.map(({ css, to }, place) => (
        <span key={css} class="shade">
          <span class={`key box ${css}`} />
          {place === shades.length - 1 ? "to" : "<"} {duration(to)}
        </span>
      ))}
    </li>
  );
}
