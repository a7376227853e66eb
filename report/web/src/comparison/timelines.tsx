// Two timelines one above the other on one time axis, with changes in red (improved or removed
// steps in another colour), numbered as in the list below them.

import { useMemo } from "preact/hooks";
import { duration, fitted, tick } from "../format";
import { ticks } from "../pattern/timeline";
import { useWidth } from "../size";
import { type Compared, type Marked, marksOf, type Side } from "./changes";
import { type Span, spans } from "./spans";
import { MARK, operation } from "./words";

/** Heights in pixels: of a step, of the line for numbers above it, of a heading, and of the axis. */
const [BOX, LANE, GAP, HEAD, AXIS] = [22, 17, 6, 24, 26];
const NARROWEST = 280;
/** The width of a character, rather overestimated. */
const CHARACTER = 7;
/** Minimum width of a part that is drawn, in pixels. */
const LEAST = 0.4;
/** Minimum number of characters of a name. */
const SHORTEST = 6;
const BADGE = { width: 30, height: 14 };

interface Props {
  compared: Compared;
  titles: [string, string];
}

export function Timelines({ compared, titles }: Props) {
  const [place, available] = useWidth<HTMLDivElement>();
  const wide = Math.max(NARROWEST, available);
  const sides = useMemo(() => {
    const one = (side: Side, which: "before" | "after") => ({ side, which, ...spans(side.tree.places, side.period), marks: marksOf(compared, which) });
    return [one(compared.before, "before"), one(compared.after, "after")] as const;
  }, [compared]);
  const span = Math.max(1, ...sides.map(({ total }) => total));
  // The label of the end of the axis protrudes a little.
  const [left, right] = [4, 26];
  const scale = (wide - left - right) / span;
  const x = (at: number) => left + at * scale;
  let bottom = 0;
  const charts = sides.map((one, which) => {
    const top = bottom + HEAD;
    const drawn = one.spans.filter((span) => (span.answered - span.sent) * scale >= LEAST);
    const rows = Math.max(0, ...drawn.map(({ depth }) => depth + 1));
    const laned = new Set(drawn.flatMap(({ place, depth }) => (one.marks.get(place)?.some((mark) => mark[one.which] === place) ? [depth] : [])));
    const tops: number[] = [];
    let at = top;
    for (let row = 0; row < rows; row++) {
      if (laned.has(row)) at += LANE;
      tops.push(at);
      at += BOX + GAP;
    }
    bottom = at + (which === 0 ? 10 : 0);
    return { ...one, drawn, head: top - 8, tops };
  });
  const height = bottom + AXIS;
  const said = charts.map(({ total, side, which }) => `${which} ${duration(total)} in ${side.tree.places.length} steps`).join(", ");
  const marked = compared.marked.map(({ number, text }) => `${number}: ${text}`).slice(0, 8).join("; ");

  return (
    <div class="scroll timelines" ref={place}>
      <svg class="compared-timelines" width={wide} height={height} viewBox={`0 0 ${wide} ${height}`} role="img" aria-label={`Timelines: ${said}. ${marked}`}>
        <defs>
          {(["worse", "better"] as const).map((css) => (
            <pattern key={css} id={`hatch-${css}`} class={css} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform={css === "worse" ? "rotate(45)" : "rotate(-45)"}>
              <rect width="6" height="6" class="ground" />
              <line x1="0" x2="0" y1="0" y2="6" class="stripe" />
            </pattern>
          ))}
        </defs>
        {ticks(span).map((at) => (
          <g key={at} class="ticks">
            <line x1={x(at)} x2={x(at)} y1={HEAD - 6} y2={height - AXIS + 6} />
            <text x={x(at)} y={height - 7} text-anchor={at === 0 ? "start" : "middle"}>{tick(at)}</text>
          </g>
        ))}
        {charts.map(({ drawn, side, tops, marks, head, total, which }) => {
          const taken = new Map<number, number>();
          return (
            <g key={which}>
              <text class="title" x={left} y={head}>{fitted(titles[which === "before" ? 0 : 1], Math.floor((wide - 80) / 7.2))}</text>
              {total > 0 && <line class="end" x1={x(total)} x2={x(total)} y1={head + 4} y2={(tops.at(-1) ?? head) + BOX} />}
              {drawn.map((one) => {
                const top = tops[one.depth] ?? 0;
                const here = marks.get(one.place) ?? [];
                return (
                  <g key={one.place}>
                    <Step span={one} side={side} marks={here} x={x} top={top} />
                    {here.filter((mark) => mark[which] === one.place).map((mark) => {
                      const wanted = center(one, mark, x) - BADGE.width / 2;
                      const at = Math.min(Math.max(0, wanted, taken.get(one.depth) ?? 0), wide - BADGE.width);
                      // A number that would be far from its step is left out; the list has it.
                      if (at - wanted > 1.5 * BADGE.width) return null;
                      taken.set(one.depth, at + BADGE.width + 2);
                      return (
                        <g key={mark.number} class={`badge ${mark.css}`}>
                          <line x1={center(one, mark, x)} x2={at + BADGE.width / 2} y1={top} y2={top - LANE + BADGE.height} />
                          <rect x={at} y={top - LANE + 1} width={BADGE.width} height={BADGE.height} rx="7" />
                          <text x={at + BADGE.width / 2} y={top - LANE + 12}>{GLYPH[mark.what] ?? MARK[mark.css]}{mark.number}</text>
                        </g>
                      );
                    })}
                  </g>
                );
              })}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** The sign before the number of a step that exists on one side only. */
export const GLYPH: Partial<Record<Marked["what"], string>> = { added: "+", lost: "−" };

function center(span: Span, mark: Marked, x: (at: number) => number): number {
  if (mark.what === "network") return x((span.sent + span.from) / 2);
  const longest = span.work.toSorted((one, other) => other[1] - other[0] - (one[1] - one[0]))[0] ?? [span.from, span.to];
  return x(mark.what === "own" ? (longest[0] + longest[1]) / 2 : (span.sent + span.answered) / 2);
}

interface StepProps {
  span: Span;
  side: Side;
  marks: Marked[];
  x: (at: number) => number;
  top: number;
}

function Step({ span, side: { tree, period }, marks, x, top }: StepProps) {
  const place = tree.places[span.place];
  if (!place) return null;
  const of = (...whats: Marked["what"][]) => marks.find(({ what }) => whats.includes(what))?.css ?? "";
  const [work, way] = [of("own", "added", "lost"), of("network", "added", "lost")];
  const [from, to, middle] = [x(span.from), x(span.to), top + BOX / 2];
  const own = duration(place.own_ns[period]);
  const flags = `${place.failed ? " ✕" : ""}${place.repeated ? " ⟳" : ""}`;
  const room = Math.floor((to - from - 8) / CHARACTER);
  const label = [`${operation(place)}${flags} ${own}`, `${place.node}${flags} ${own}`, `${place.node}${flags}`].find((text) => text.length <= room) ?? (room >= SHORTEST ? fitted(place.node, room) : "");
  const network = place.network_ns[period] > 0 ? `, ${duration(place.network_ns[period])} on the way` : "";
  const notes = `${place.failed ? ", fails" : ""}${place.repeated ? ", called several times in a row" : ""}${place.concurrent ? ", at the same time as the one before" : ""}`;
  return (
    <g class="step">
      <title>{`${operation(place)}: ${own} itself${network}${notes}`}</title>
      {[[span.sent, span.from], [span.to, span.answered]].map(([begin = 0, end = 0]) =>
        end > begin ? <line key={begin} class={`way ${way}`} x1={x(begin)} x2={Math.max(x(end), x(begin) + 0.5)} y1={middle} y2={middle} /> : null,
      )}
      <rect class={`wait ${place.failed ? "failed" : ""}`} x={from} y={top} width={Math.max(1, to - from)} height={BOX} rx="2" />
      {span.work.map(([begin, end]) => (
        <rect key={begin} class={`work ${work}`} x={x(begin)} y={top} width={Math.max(0.6, (end - begin) * (x(1) - x(0)))} height={BOX} fill={work ? `url(#hatch-${work})` : undefined} />
      ))}
      {label && <text class="label" x={(from + to) / 2} y={middle + 4}>{label}</text>}
    </g>
  );
}
