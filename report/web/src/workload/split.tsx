// A bar whose parts are what its time was spent on.

import { duration, percent } from "../format";
import { parts } from "./ways";

interface Props {
  spent: number[];
  /** What the bar stands for, for who cannot see it. */
  of: string;
}

/** The parts side by side, together as wide as the place that they are in. */
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
