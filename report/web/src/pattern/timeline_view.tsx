// A timeline as SVG: boxes for nodes at work, lines for messages, diamonds for untraced nodes, in
// proportion to time.

import { useMemo } from "preact/hooks";
import { color } from "../colors";
import type { Details, Instance, Part } from "../data/types";
import { duration, fitted, plural, tick } from "../format";
import { useWidth } from "../size";
import { lanes } from "./flags";
import { type Element, part, ticks, timeline } from "./timeline";
import { timing } from "./timing";

/** Minimum width: on a phone the drawing scrolls, and its text stays as large as elsewhere. */
const NARROWEST = 720;
const BOX = 26;
const LANE = 15;
const GAP = 16;
const LANES = 6;
/** The width of a character, rather overestimated; of a name, which is bold. */
const CHARACTER = 6.9;
const BOLD = 8.2;
const SLIVER = 2;
const NARROWEST_DIAMOND = 12;
const NAME = 20;

interface Props {
  details: Details;
  instance: Instance | null;
  names: string[];
  chosen: { hop: number; part: Part } | null;
  choose: (delay: { hop: number; part: Part }) => void;
}

export function TimelineView({ details, instance, names, chosen, choose }: Props) {
  const made = useMemo(() => timeline(details, timing(details, instance)), [details, instance]);
  const [place, available] = useWidth<HTMLDivElement>();
  const wide = Math.max(NARROWEST, available);
  const name = (element: Element) => fitted(names[element.name] ?? "", NAME);
  const who = (element: Element) => (element.kind === "connect" ? "connect" : name(element));
  const time = (element: Element) => duration(element.to - element.from);

  const sources = made.elements.filter((element) => element.kind === "source");
  const sinks = made.elements.filter((element) => element.kind === "sink");
  const longest = (elements: Element[]) => BOLD * Math.max(0, ...elements.map((element) => name(element).length));
  const left = 30 + longest(sources);
  const right = Math.max(64, 30 + longest(sinks));
  const scale = made.span > 0 ? (wide - right - left) / made.span : 0;
  const x = (at: number) => left + at * scale;
  const width = (element: Element) => (element.to - element.from) * scale;
  const middle = (element: Element) => (x(element.from) + x(element.to)) / 2;
  const room = (element: Element) =>
    element.kind === "network" ? time(element).length * CHARACTER : who(element).length * BOLD + (time(element).length + 1) * CHARACTER;
  const flies = (element: Element) =>
    part(element.kind) !== null &&
    width(element) < (element.kind === "untraced" ? room(element) * 1.5 : room(element) + 6);

  // To the right of its pole, or to the left at the end of the drawing.
  const flagged = (element: Element) => {
    const [pole, long] = [middle(element), room(element) + 4];
    return pole + long > wide ? { from: pole - long, to: pole, pole } : { from: pole, to: pole + long, pole };
  };

  // The labels that are flags, and the height that each row needs for them.
  const flags = new Map<Element, { lane: number; up: boolean }>();
  const tops: number[] = [];
  let bottom = 4;
  for (let row = 0; row < made.rows; row++) {
    const fly = (up: boolean) => {
      const wanting = made.elements.filter(
        (element) => element.row === row && flies(element) && (element.kind !== "network") === up,
      );
      const placed = lanes(
        wanting.map((element) => ({ ...flagged(element), weight: element.to - element.from })),
        LANES,
        made.forks.filter(({ fromRow, toRow }) => (up ? fromRow < row && row <= toRow : fromRow <= row && row < toRow)).map((fork) => x(fork.at)),
      );
      wanting.forEach((element, index) => {
        const lane = placed[index];
        if (lane !== null && lane !== undefined) flags.set(element, { lane, up });
      });
      return Math.max(0, ...placed.map((lane) => (lane ?? -1) + 1));
    };
    const [above, below] = [fly(true), fly(false)];
    tops.push(bottom + above * LANE);
    bottom += above * LANE + BOX + (below ? below * LANE + 2 : 0) + GAP;
  }
  const height = bottom + 26;
  const top = (row: number) => tops[row] ?? 0;

  const shape = (element: Element) => {
    const [from, center] = [x(element.from), top(element.row) + BOX / 2];
    switch (element.kind) {
      case "node":
      case "connect":
        return <rect x={from} y={top(element.row)} width={Math.max(SLIVER, width(element))} height={BOX} rx={3} />;
      case "network":
        return (
          <>
            <line x1={from} x2={Math.max(x(element.to), from + 1)} y1={center} y2={center} />
            {/* A thin line is hard to point at. */}
            <rect class="hit" x={from} y={top(element.row)} width={Math.max(SLIVER, width(element))} height={BOX} />
          </>
        );
      case "untraced":
        return <polygon points={diamond(middle(element), center, Math.max(NARROWEST_DIAMOND, width(element)), BOX / 2 + 3)} />;
      default: {
        const side = element.kind === "source" ? -1 : 1;
        const at = from + side * 14;
        return (
          <>
            <line class="stub" x1={from} x2={at} y1={center} y2={center} />
            {element.traced ? <circle cx={at} cy={center} r={3.5} /> : <polygon points={diamond(at, center, 10, 5)} />}
            <text class="name" x={at + side * 9} y={center + 4} text-anchor={side < 0 ? "end" : "start"}>
              {name(element)}
            </text>
          </>
        );
      }
    }
  };

  const text = (element: Element) => {
    if (!part(element.kind)) return null;
    const words =
      element.kind === "network" ? (
        time(element)
      ) : (
        <>
          <tspan class="who">{who(element)}</tspan> {time(element)}
        </>
      );
    const [at, center] = [middle(element), top(element.row) + BOX / 2];
    if (!flies(element)) {
      return (
        <text class="label" x={at} y={center + (element.kind === "network" ? -5 : 4)}>
          {words}
        </text>
      );
    }
    const flag = flags.get(element);
    if (!flag) return null;
    const isLeft = flagged(element).from < at;
    const edge = flag.up ? top(element.row) : top(element.row) + BOX + 1;
    const foot = flag.up ? edge : center + 1;
    const [tip, base] = flag.up
      ? [edge - flag.lane * LANE - LANE + 2, edge - flag.lane * LANE - 5]
      : [edge + flag.lane * LANE + LANE - 2, edge + flag.lane * LANE + 11];
    return (
      <>
        <line class="pole" x1={at} x2={at} y1={foot} y2={tip} />
        <text class="flag" x={isLeft ? at - 4 : at + 4} y={base} text-anchor={isLeft ? "end" : "start"}>
          {words}
        </text>
      </>
    );
  };

  const hidden = made.elements.filter((element) => flies(element) && !flags.has(element)).length;
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Timeline" ref={place}>
        <svg class="timeline" width={wide} height={height} viewBox={`0 0 ${wide} ${height}`} role="group" aria-label="Timeline of the path">
          <g class="axis">
            {ticks(made.span).map((at) => (
              <g key={at}>
                <line x1={x(at)} x2={x(at)} y1={0} y2={height - 24} />
                <text x={x(at)} y={height - 9}>
                  {tick(at)}
                </text>
              </g>
            ))}
          </g>
          {made.forks.map((fork) => (
            <line
              key={`${fork.toRow}`}
              class="fork"
              x1={x(fork.at)}
              x2={x(fork.at)}
              y1={top(fork.fromRow) + BOX / 2}
              y2={top(fork.toRow) + BOX / 2}
            />
          ))}
          {made.elements.map((element) => {
            const of = part(element.kind);
            const isChosen = of !== null && chosen?.hop === element.hop && chosen.part === of;
            const classes = [element.kind, element.kind === "node" || element.kind === "connect" ? color(element.name) : "", element.critical ? "critical" : "", isChosen ? "chosen" : ""];
            const take = of ? () => choose({ hop: element.hop, part: of }) : undefined;
            const said = `${names[element.name]} ${of ? `${time(element)}, ` : ""}${KIND[element.kind]}${element.critical ? ", the largest delay on the longest branch" : ""}`;
            return (
              <g
                key={`${element.hop} ${element.kind}`}
                class={classes.filter(Boolean).join(" ")}
                role={of ? "button" : undefined}
                tabindex={of ? 0 : undefined}
                aria-label={of ? said : undefined}
                aria-pressed={of ? isChosen : undefined}
                onClick={take}
                onKeyDown={(event) => {
                  if (take && (event.key === "Enter" || event.key === " ")) {
                    event.preventDefault();
                    take();
                  }
                }}
              >
                <title>{said}</title>
                {shape(element)}
                {text(element)}
              </g>
            );
          })}
        </svg>
      </div>
      {hidden > 0 && <p class="fine">{plural(hidden, "delay")} without a label here, for want of room; the tree below has all.</p>}
      {details.omitted > 0 && <p class="fine">{plural(details.omitted, "further hop")} not drawn.</p>}
    </>
  );
}

const KIND = { source: "begins", node: "at work", connect: "waits for a connection", network: "sends", untraced: "untraced, with its network", sink: "receives" };

function diamond(x: number, y: number, width: number, half: number): string {
  return `${x - width / 2},${y} ${x},${y - half} ${x + width / 2},${y} ${x},${y + half}`;
}
