// What the colours of nodes and contexts mean.

import { scale, type Shade } from "./colors";
import { duration } from "./format";

/** The shades with the times that they cover, as entries of a legend; by default the shades of nodes. */
export function Shades({ shades = scale(), of = "a node" }: { shades?: Shade[]; of?: string }) {
  if (shades.length === 0) return null;
  return (
    <li class="shades">
      mean time of {of}
      {shades.map(({ css, to }, place) => (
        <span key={css} class="shade">
          <span class={`key box ${css}`} />
          {place === shades.length - 1 ? "to" : "<"} {duration(to)}
        </span>
      ))}
    </li>
  );
}
