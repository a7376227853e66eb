// A bar with parts for the resources that its time was spent on.

import { duration, percent } from "../format";
import { parts } from "./ways";

interface Props {
  spent: number[];
  /** The meaning of the bar, for screen readers. */
  of: string;
}

/** The parts in a row, together as wide as their place. */
export function Split({ spent, of }: Props) {
  const all = parts(spent);
  const whole = all.reduce((sum, part) => sum + part.time, 0);
  const said = (time: number, name: string) => `${name} ${duration(time)} (${percent(time / whole)})`;
  return (
    <span class="split" role="img" aria-label={`${of}: ${all.map(({ way, time }) => said(time, way.name)).join(", ") || "nothing"}`}>
      {all.map(({ way, time }) => (
        <span key={way.css} class={way.css} style={{ flexGrow: time / whole }} title={`${said(time, way.name)}. ${way.means}`} />
      ))}
    </span>
  );
}
