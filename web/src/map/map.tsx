// The system as the patterns show it: its nodes, who calls whom, how often, and how long that takes.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { color } from "../colors";
import type { MapEdge, Overview } from "../data/types";
import { bytes, count, duration, percent, plural, rate, shorten } from "../format";
import { choose, query, tab } from "../state";
import { layout } from "./layout";

/** Rows of the table; choosing a node shows its own. */
const MOST_ROWS = 300;

export function MapView({ overview }: { overview: Overview }) {
  const seconds = overview.window / 1e9;
  const { nodes, edges } = overview.map;
  const most = edges.reduce((most, edge) => Math.max(most, edge.there + edge.back), 1);
  const { names } = overview;
  const label = (edge: MapEdge) => `${rate(edge.there / seconds)}  ${duration(edge.network ?? edge.untraced)}`;
  const placed = useMemo(() => layout(overview, label), [overview]);
  const chosen = useSignal<number | null>(null);
  const all = nodes.reduce((sum, node) => sum + node.time, 0) + edges.reduce((sum, edge) => sum + between(edge), 0);
  const isBright = (edge: MapEdge) => chosen.value === null || edge.from === chosen.value || edge.to === chosen.value;
  const search = (name: number) => {
    query.value = names[name] ?? "";
    choose(null);
    tab.value = "patterns";
  };
  const press = (name: number) => (chosen.value = chosen.value === name ? null : name);
  return (
    <section class="map" aria-label="Map">
      <p class="lead">
        Who talks to whom in the {plural(overview.patterns.id.length, "pattern")} of this page: requests a second, and below it the mean time on
        the network, or of an untraced node with its network. Choose a node to see its own edges.
      </p>
      <div class="scroll card" tabIndex={0} role="region" aria-label="Map of the system">
        <svg
          class="system"
          viewBox={`0 0 ${placed.width} ${placed.height}`}
          style={{ width: `${placed.width}px`, minWidth: `${Math.min(placed.width, 640)}px` }}
          role="group"
          aria-label={`${plural(placed.nodes.length, "node")} and ${plural(placed.edges.length, "edge")}`}
        >
          <defs>
            <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="11" markerHeight="11" markerUnits="userSpaceOnUse" orient="auto">
              <path d="M0 0 8 4 0 8z" />
            </marker>
          </defs>
          {placed.edges.map(({ index, points, label: at }) => {
            const edge = edges[index];
            if (!edge) return null;
            return (
              <g key={index} class={`edge ${isBright(edge) ? "" : "dim"}`}>
                <title>{sentence(edge, names, seconds)}</title>
                <path d={curve(points)} marker-end="url(#tip)" style={{ strokeWidth: thickness(edge, most) }} />
                {at && (
                  <text x={at.x} y={at.y - 3}>
                    {rate(edge.there / seconds)}
                    <tspan x={at.x} dy="13" class="time">{duration(edge.network ?? edge.untraced)}</tspan>
                  </text>
                )}
              </g>
            );
          })}
          {placed.nodes.map(({ index, x, y, width, height }) => {
            const node = nodes[index];
            if (!node) return null;
            const name = names[node.name] ?? "";
            const classes = `place ${node.traced ? color(node.name) : "c-untraced"} ${chosen.value === node.name ? "chosen" : ""}`;
            const said = `${name} ${node.traced ? `${duration(node.mean)} at work on average, ${percent(node.time / all)} of all time` : "untraced"}`;
            return (
              <g
                key={index}
                class={classes}
                role="button"
                tabindex={0}
                aria-pressed={chosen.value === node.name}
                aria-label={said}
                onClick={() => press(node.name)}
                onDblClick={() => search(node.name)}
                onKeyDown={(event) => {
                  if (event.key === "Enter" || event.key === " ") {
                    event.preventDefault();
                    press(node.name);
                  }
                }}
              >
                <title>{said}</title>
                <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={node.traced ? 7 : 22} />
                <text x={x} y={y - 3}>
                  {shorten(name, 20)}{" "}
                  <tspan x={x} dy="16" class="time">{node.traced ? duration(node.mean) : "untraced"}</tspan>
                </text>
              </g>
            );
          })}
        </svg>
      </div>
      {placed.omitted > 0 && <p class="fine">{count(placed.omitted)} edges with the fewest messages are not drawn.</p>}
      {chosen.value !== null && (
        <p>
          <button type="button" class="quiet" onClick={() => chosen.value !== null && search(chosen.value)}>
            Patterns that {names[chosen.value]} takes part in
          </button>
        </p>
      )}
      <EdgeTable overview={overview} seconds={seconds} chosen={chosen.value} />
    </section>
  );
}

/** The time of all messages of an edge together. */
function between(edge: MapEdge): number {
  return edge.network_time + edge.untraced_time;
}

function EdgeTable({ overview, seconds, chosen }: { overview: Overview; seconds: number; chosen: number | null }) {
  const { names, map } = overview;
  const rows = useMemo(() => map.edges.toSorted((one, other) => between(other) - between(one)), [map]);
  const wanted = rows.filter((edge) => chosen === null || edge.from === chosen || edge.to === chosen);
  return (
    <div class="scroll card">
      <table>
        <caption class="visually-hidden">Who talks to whom</caption>
        <thead>
          <tr>
            <th scope="col">from</th>
            <th scope="col">to</th>
            <th scope="col" class="number">requests</th>
            <th scope="col" class="number wide">responses</th>
            <th scope="col" class="number">delay</th>
            <th scope="col" class="number wide">data</th>
          </tr>
        </thead>
        <tbody>
          {wanted.slice(0, MOST_ROWS).map((edge) => (
            <tr key={`${edge.from} ${edge.to} ${edge.port} ${edge.protocol}`}>
              <th scope="row">{names[edge.from]}</th>
              <td>
                {names[edge.to]} <span class="soft">{names[edge.port] === "*" ? "" : names[edge.port]} {edge.protocol}</span>
              </td>
              <td class="number">{rate(edge.there / seconds)}</td>
              <td class="number wide">{rate(edge.back / seconds)}</td>
              <td class="number">{duration(edge.network ?? edge.untraced)}</td>
              <td class="number wide">{bytes(edge.bytes / seconds)}/s</td>
            </tr>
          ))}
        </tbody>
      </table>
      {wanted.length > MOST_ROWS && <p class="fine">{count(wanted.length - MOST_ROWS)} further edges, those with the least time, are left out.</p>}
    </div>
  );
}

function sentence(edge: MapEdge, names: string[], seconds: number): string {
  const time = edge.network === null ? `${duration(edge.untraced)} untraced` : `${duration(edge.network)} on the network`;
  return `${names[edge.from]} to ${names[edge.to]} ${names[edge.port]} ${edge.protocol}: ${rate(edge.there / seconds)} there, ${rate(edge.back / seconds)} back, ${time}`;
}

function thickness(edge: MapEdge, most: number): number {
  return 1 + 3 * Math.sqrt((edge.there + edge.back) / most);
}

/** A smooth line through the points. */
function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x.toFixed(1)} ${first.y.toFixed(1)}`;
  for (let at = 0; at < rest.length; at++) {
    const [here, next] = [rest[at], rest[at + 1]];
    if (!here) continue;
    const end = next ? { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 } : here;
    path += ` Q${here.x.toFixed(1)} ${here.y.toFixed(1)} ${end.x.toFixed(1)} ${end.y.toFixed(1)}`;
  }
  return path;
}
