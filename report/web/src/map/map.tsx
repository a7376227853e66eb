// The system as the patterns show it: its nodes, callers and callees, and the rate and duration of
// calls.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { color } from "../colors";
import type { MapEdge, Overview } from "../data/types";
import { count, duration, percent, plural, rate } from "../format";
import { Shades } from "../legend";
import { useWidth } from "../size";
import { choose, query, tab } from "../state";
import { EdgeTable } from "./edge_table";
import { between, joined, sentence } from "./edges";
import { labels } from "./labels";
import { LABEL, layout } from "./layout";
import { type Line, path, type Point } from "./lines";
import { NodeBox } from "./node_box";

export function MapView({ overview }: { overview: Overview }) {
  const seconds = overview.window / 1e9;
  const { nodes, edges } = overview.map;
  const { names } = overview;
  const [place, room] = useWidth<HTMLDivElement>();
  const placed = useMemo(() => (room > 0 ? layout(overview, room) : null), [overview, room]);
  const chosen = useSignal<number | null>(null);
  const all = nodes.reduce((sum, node) => sum + node.time, 0) + edges.reduce((sum, edge) => sum + between(edge), 0);
  const search = (name: number) => {
    query.value = names[name] ?? "";
    choose(null);
    tab.value = "patterns";
  };
  const press = (name: number) => (chosen.value = chosen.value === name ? null : name);
  return (
    <section class="map" aria-label="Map">
      <p class="lead">
        Who talks to whom in the {plural(overview.patterns.id.length, "pattern")} of this page. At a line: requests per second, and the mean time on
        the network, or of an untraced node with its network. Choose a node to see its own lines.
      </p>
      <div class="scroll card" tabIndex={0} role="region" aria-label="Map of the system" ref={place}>
        {placed && (
          <svg
            class={`system ${placed.isSmall ? "small" : ""}`}
            width={placed.width}
            height={placed.height}
            viewBox={`0 0 ${placed.width} ${placed.height}`}
            role="group"
            aria-label={`${plural(placed.nodes.length, "node")} and ${plural(placed.lines.length, "line")}`}
          >
            <Lines placed={placed} edges={edges} names={names} seconds={seconds} chosen={chosen.value} />
            {placed.nodes.map((box) => {
              const node = nodes[box.index];
              if (!node) return null;
              const name = names[node.name] ?? "";
              return (
                <NodeBox
                  key={box.index}
                  box={box}
                  name={name}
                  time={node.traced ? duration(node.mean) : "untraced"}
                  said={`${name} ${node.traced ? `${duration(node.mean)} at work on average, ${percent(node.time / all)} of all time` : "untraced"}`}
                  css={node.traced ? color(node.name) : "c-untraced"}
                  isTraced={node.traced}
                  isSmall={placed.isSmall}
                  isChosen={chosen.value === node.name}
                  press={() => press(node.name)}
                  search={() => search(node.name)}
                />
              );
            })}
          </svg>
        )}
      </div>
      <ul class="legend" aria-label="Legend">
        <Shades />
        {nodes.some((node) => !node.traced) && <li><span class="key c-untraced" /> untraced node</li>}
        <li><span class="key line" /> the thicker, the more messages</li>
      </ul>
      {placed !== null && placed.omitted > 0 && <p class="fine">{count(placed.omitted)} edges with the fewest messages are not drawn.</p>}
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

interface LinesProps {
  placed: NonNullable<ReturnType<typeof layout>>;
  edges: MapEdge[];
  names: string[];
  seconds: number;
  /** The selected node, if any: only its lines are bright. */
  chosen: number | null;
}

function Lines({ placed, edges, names, seconds, chosen }: LinesProps) {
  const ways = placed.ways.map((way) => way.flatMap((index) => edges[index] ?? []));
  const messages = (line: Line) => joined(ways[line.index] ?? []).messages;
  const most = Math.max(1, ...placed.lines.map(messages));
  const isBright = ({ index }: Line) => {
    const edge = ways[index]?.[0];
    return chosen === null || edge?.from === chosen || edge?.to === chosen;
  };
  const written = useMemo(() => {
    const bright = placed.lines.filter(isBright).toSorted((one, other) => messages(other) - messages(one));
    const boxes = placed.nodes.map(({ x, y, width, height }) => ({ x: x - width / 2, y: y - height / 2, width, height }));
    const found = labels(bright, boxes, LABEL, { x: 0, y: 0, width: placed.width, height: placed.height });
    // Labels at only a few lines would be less informative than none.
    return chosen === null && found.size < bright.length / 2 ? new Map<number, Point>() : found;
  }, [placed, chosen]);
  return placed.lines.map((line) => {
    const way = ways[line.index] ?? [];
    const { there, time } = joined(way);
    const at = written.get(line.index);
    const middle = (at?.x ?? 0) + LABEL.width / 2;
    return (
      <g key={line.index} class={`edge ${isBright(line) ? "" : "dim"}`}>
        <title>{way.map((edge) => sentence(edge, names, seconds)).join("\n")}</title>
        <path class="line" d={path(line.points)} style={{ strokeWidth: 1 + 3 * Math.sqrt(messages(line) / most) }} />
        <polygon class="tip" points={line.tip.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />
        {at && (
          <text x={middle} y={at.y + 11}>
            {rate(there / seconds)}
            {time !== null && <tspan x={middle} dy="13" class="time">{duration(time)}</tspan>}
          </text>
        )}
      </g>
    );
  });
}
