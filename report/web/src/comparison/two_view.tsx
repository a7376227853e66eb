// Two distributions in one plot on a log axis: before as a filled shape, after as a line.

import { useMemo } from "preact/hooks";
import { Axis, upwards } from "../contexts/stacked";
import { useWidth } from "../size";
import { duration, percent } from "../format";
import { labelled, type Shape, steps, together } from "./two";
import { both } from "./words";

/** Buckets of a plot, as in `crates/compare/src/tuning.rs`. */
const BUCKETS = 48;
/** Distance between labels of the axis, in pixels. */
const APART = 58;

interface Props {
  /** The subject of the distributions. */
  of: string;
  shapes: [Shape, Shape];
  /** A marked time of each, and its meaning. */
  marked?: readonly [before: number, after: number];
  mark?: string;
  /** The names of the two. */
  sides?: [string, string];
}

export function TwoView({ of, shapes, marked, mark, sides = ["before", "after"] }: Props) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const drawn = useMemo(() => together(shapes, BUCKETS), shapes);
  if (!drawn) return <p class="fine">No response times are known.</p>;
  const { bounds, shares } = drawn;
  const most = 1.08 * Math.max(...shares[0], ...shares[1]);
  const [low, high] = [bounds[0] ?? 1, bounds.at(-1) ?? 1];
  const place = (time: number) => Math.min(1, Math.max(0, Math.log(Math.max(1, time) / low) / Math.log(high / low)));
  // Labels at the ends are kept within the axis.
  const middle = (time: number) => Math.min(Math.max(place(time) * width, APART / 2), width - APART / 2);
  const labels = labelled(low, high, middle, APART);
  const isThere = shares.map((of) => of.some((share) => share > 0));
  const said = `${of}: ${marked && mark ? `${mark} ${both(marked)}` : `from ${duration(low)} to ${duration(high)}`}`;
  return (
    <div class="two">
      <div ref={frame} class="stacked card" role="img" aria-label={`Distributions of ${said}`}>
        <div class="plane">
          {upwards(most).map((share) => (
            <span key={share} class="level" style={{ bottom: `${(share / most) * 100}%` }}><span>{percent(share).replace(".0%", "%")}</span></span>
          ))}
          <svg viewBox={`0 0 ${BUCKETS} 1`} preserveAspectRatio="none">
            {isThere[0] && <path class="shape-before" d={`${steps(shares[0], most)}V1H0Z`} />}
            {isThere[1] && <path class="shape-after" d={steps(shares[1], most)} />}
            {marked?.map((time, side) => {
              const x = place(time) * BUCKETS;
              return isThere[side] && <line key={side} class={side === 0 ? "mark-before" : "mark-after"} x1={x} x2={x} y1="0" y2="1" />;
            })}
            {bounds.slice(1).map((bound, bucket) => (
              <rect key={bound} class="hit" x={bucket} width="1" y="0" height="1">
                <title>
                  {`${duration(bounds[bucket])} to ${duration(bound)}: ${percent(shares[0][bucket] ?? 0)} ${sides[0]}, ${percent(shares[1][bucket] ?? 0)} ${sides[1]}`}
                </title>
              </rect>
            ))}
          </svg>
        </div>
        <Axis labels={labels} place={place} />
      </div>
      <ul class="legend" aria-label="Legend">
        <li><span class="key shape-before" /> {sides[0]}{!isThere[0] && ": none"}</li>
        <li><span class="key shape-after" /> {sides[1]}{!isThere[1] && ": none"}</li>
        {marked && mark && (
          <>
            <li><span class="key mark-before" /> {mark} {sides[0]}</li>
            <li><span class="key mark-after" /> {mark} {sides[1]}</li>
          </>
        )}
      </ul>
    </div>
  );
}
