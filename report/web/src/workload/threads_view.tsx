// A request over its threads and processors, as SVG: one row each, with its activities over time,
// and an arrow from each thread that woke another.

import { useMemo } from "preact/hooks";
import type { Example } from "../data/workload";
import { duration, plural, shorten, tick } from "../format";
import { ticks } from "../pattern/timeline";
import { useWidth } from "../size";
import { Ways } from "./legend";
import { arrows, rows } from "./threads";
import { WAYS } from "./ways";

/** Minimum width: on a phone the drawing scrolls. */
const NARROWEST = 640;
const ROW = 26;
const BAR = 16;
const CHARACTER = 6.9;
const NAME = 26;
/** Minimum width of a slice, so that each is visible. */
const SLIVER = 0.8;

export function Threads({ example }: { example: Example }) {
  const [all, handed] = useMemo(() => [rows(example), arrows(example)], [example]);
  const [place, available] = useWidth<HTMLDivElement>();
  if (example.lanes.length === 0) return <p class="fine">What its threads did was not recorded, or is not part of this page.</p>;
  const wide = Math.max(NARROWEST, available);
  const name = (row: number) => shorten(all[row]?.name ?? "", NAME);
  const left = 12 + CHARACTER * Math.max(...all.map((_, row) => name(row).length));
  const scale = example.time > 0 ? (wide - left - 30) / example.time : 0;
  const x = (at: number) => left + at * scale;
  const threads = example.lanes.length;
  // Processors are set apart.
  const top = (row: number) => 6 + row * ROW + (row >= threads ? 12 : 0);
  const bottom = top(all.length) + 2;
  const ways = WAYS.filter((_, way) => all.some(({ slices }) => slices.some((one) => one.way === way)));
  return (
    <section>
      <h3>
        Threads <span class="soft">activity over time{handed.length > 0 ? `, and ${plural(handed.length, "hand-off")} between them` : ""}; below on which processor</span>
      </h3>
      <div class="scroll card lanes" tabIndex={0} role="region" aria-label="Threads" ref={place}>
        <svg class="threads" width={wide} height={bottom + 22} viewBox={`0 0 ${wide} ${bottom + 22}`} role="group" aria-label="Threads of the request over time">
          <g class="time">
            {ticks(example.time).map((at) => (
              <g key={at}>
                <line x1={x(at)} x2={x(at)} y1={0} y2={bottom} />
                <text x={x(at)} y={bottom + 15}>{tick(at)}</text>
              </g>
            ))}
          </g>
          {all.map(({ isProcessor, slices }, row) => (
            <g key={row} class={isProcessor ? "lane processor" : "lane"} role="img" aria-label={said(all[row]?.name ?? "", slices)}>
              <text class="name" x={left - 8} y={top(row) + BAR - 4}>{name(row)}</text>
              <line class="ground" x1={left} x2={x(example.time)} y1={top(row) + BAR} y2={top(row) + BAR} />
              {slices.map(({ from, to, way, with: other }, slice) => (
                <rect key={slice} class={WAYS[way]?.css} x={x(from)} y={top(row)} width={Math.max(SLIVER, (to - from) * scale)} height={BAR}>
                  <title>
                    {isProcessor ? `thread ${all[other ?? -1]?.name ?? ""}` : WAYS[way]?.name} {duration(to - from)}, from {duration(from)} on
                    {!isProcessor && other !== null ? `, processor ${other}` : ""}
                  </title>
                </rect>
              ))}
            </g>
          ))}
          {handed.map(([by, signalled, to, woken], which) => {
            const [from, until] = [top(by) + (to > by ? BAR : 0), top(to) + (to > by ? 0 : BAR)];
            const down = to > by ? 1 : -1;
            return (
              <g key={which} class="hand-off">
                <title>{`${all[by]?.name} wakes ${all[to]?.name}: signalled at ${duration(signalled)}, woken at ${duration(woken)}`}</title>
                <line x1={x(signalled)} x2={x(woken)} y1={from} y2={until} />
                <path d={`M${x(woken)} ${until} l-3 ${-6 * down} h6 z`} />
              </g>
            );
          })}
        </svg>
      </div>
      <Ways ways={ways} />
      {example.is_cut && <p class="fine">Not all threads, slices and hand-offs have room here; <code>sockcap export perfetto</code> has all.</p>}
    </section>
  );
}

/** The contents of a row, for screen readers. */
function said(name: string, slices: { from: number; to: number; way: number }[]): string {
  const sums = WAYS.map((way, place) => ({ way, time: slices.filter((one) => one.way === place).reduce((sum, { from, to }) => sum + to - from, 0) }));
  return `${name}: ${sums.filter(({ time }) => time > 0).map(({ way, time }) => `${way.name} ${duration(time)}`).join(", ") || "nothing is known"}`;
}
