// The sums that add up: from the value before to the value after, a line for each part of the
// change.

import { useSignal } from "@preact/signals";
import { breakable, duration, plural, tick } from "../format";
import { useWidth } from "../size";
import { share, stops, waterfall, worth } from "./waterfall";
import type { Measure } from "./state";
import { MARK, type Measured, partName, signed } from "./words";

/** Initial and maximum number of parts. */
const [SHOWN, MOST] = [8, 200];

interface Props {
  of: Measure;
  measured: Measured;
}

export function WaterfallView({ of, measured: { values, parts } }: Props) {
  const isWhole = useSignal(false);
  const [place, width] = useWidth<HTMLDivElement>();
  const shown = worth(parts.parts, SHOWN);
  const made = waterfall(values, parts.parts, isWhole.value ? MOST : shown);
  const { bars, rest } = made;
  const at = (time: number) => `${share(made, time) * 100}%`;
  const labels = stops(made, width > 0 && width < 420 ? 3 : 6);
  const track = (from: number, to: number, css: string) => {
    const [left, right] = [Math.min(from, to), Math.max(from, to)];
    return (
      <span class="track" aria-hidden="true">
        {labels.map((time) => <span key={time} class="grid" style={{ left: at(time) }} />)}
        <span class={`fall ${css}`} style={{ left: at(left), width: `${(share(made, right) - share(made, left)) * 100}%` }} />
      </span>
    );
  };
  const line = (from: number, to: number, what: string, css: string) => (
    <>
      <span class="what">{breakable(what)}</span>
      {track(from, to, css)}
      <span class={`number ${css}`}>{css ? `${MARK[to > from ? "worse" : "better"]} ${signed(to - from)}` : duration(to)}</span>
    </>
  );
  const css = (from: number, to: number) => (to > from ? "worse" : "better");
  return (
    <div class="card waterfall" ref={place}>
      <ol aria-label={`Parts of the change of ${of}, ${signed(parts.total_ns)} in all`}>
        <li class="end">{line(Math.max(0, made.low), values[0], `${of} before`, "")}</li>
        {bars.map(({ part, from, to }) => (
          <li key={`${part.kind} ${part.what}`}>{line(from, to, partName(part), css(from, to))}</li>
        ))}
        {rest && <li>{line(rest.from, rest.to, `all else: ${plural(rest.count, "part")}`, css(rest.from, rest.to))}</li>}
        <li class="end">{line(Math.max(0, made.low), values[1], `${of} after`, "")}</li>
      </ol>
      <div class="base" aria-hidden="true">
        <span />
        <span class="track">
          {labels.map((time) => {
            const from = share(made, time);
            return <span key={time} class={from > 0.94 ? "last" : from < 0.06 ? "first" : ""} style={{ left: at(time) }}>{tick(time)}</span>;
          })}
        </span>
        <span />
      </div>
      {made.low > 0 && <p class="fine">The axis does not begin at 0.</p>}
      {parts.parts.length > shown && (
        <button type="button" class="quiet" aria-expanded={isWhole.value} onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? "the largest parts only" : `all ${plural(parts.parts.length, "part")}`}
        </button>
      )}
    </div>
  );
}
