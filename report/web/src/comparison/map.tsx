// The system in both periods: callers and callees, and the changes between them.

import { useMemo } from "preact/hooks";
import type { Comparison, MapEdge } from "../data/comparison";
import { breakable, count, plural } from "../format";
import { labels } from "../map/labels";
import { layout, type Placed } from "../map/layout";
import { path } from "../map/lines";
import { NodeBox } from "../map/node_box";
import { useWidth } from "../size";
import { drawing, edgeName, edgeTimes, state } from "./drawing";
import { EdgeTable, NodeTable } from "./map_tables";
import { node as chosen } from "./state";
import { both, MARK, signed } from "./words";

/** The size of a label at a line, in two lines, the second of which is bold. */
const LABEL = { width: 68, height: 27 };

export function ComparedMap({ comparison }: { comparison: Comparison }) {
  const { map, suspects } = comparison;
  const [place, room] = useWidth<HTMLDivElement>();
  const drawn = useMemo(() => drawing(map), [map]);
  // Two times do not fit into the nodes of a phone.
  const isNarrow = room < 700;
  const placed = useMemo(() => (room > 0 ? layout({ ...drawn, least: isNarrow ? 84 : 128 }, room) : null), [drawn, room]);
  const suspect = suspects.find(({ node }) => node === chosen.value);
  const press = (name: string) => (chosen.value = chosen.value === name ? null : name);
  const isGone = chosen.value !== null && !drawn.keys.includes(chosen.value);
  return (
    <section class="map" aria-label="Map">
      <h2 class="visually-hidden">Map</h2>
      <p class="lead">
        Callers and callees. At a node: its own time per request, before and after. At a changed line: how long a call and its response are
        on the network. Choose a node to see its own lines.
      </p>
      {isGone && <p class="error" role="alert">{chosen.value} is not on this map.</p>}
      <div class="scroll card" tabIndex={0} role="region" aria-label="Map of the system" ref={place}>
        {placed && (
          <svg
            class={`system compared ${placed.isSmall ? "small" : ""}`}
            width={placed.width}
            height={placed.height}
            viewBox={`0 0 ${placed.width} ${placed.height}`}
            role="group"
            aria-label={`${plural(placed.nodes.length, "node")} and ${plural(placed.lines.length, "line")}`}
          >
            <Lines placed={placed} edges={map.edges} only={isGone ? null : chosen.value} />
            {placed.nodes.map((box) => {
              const key = drawn.keys[box.index] ?? "";
              const node = map.nodes.find((one) => one.node === key);
              const [before, after] = node?.own_ns ?? [0, 0];
              const time = !node ? "not seen" : placed.isSmall || isNarrow ? signed(after - before) : both(node.own_ns);
              return (
                <NodeBox
                  key={box.index}
                  box={box}
                  name={drawn.names[box.index] ?? ""}
                  time={time}
                  said={`${drawn.names[box.index]} ${time}${node ? ` itself for each request${node.changed ? `, ${node.changed === "other" ? "calls others more or less often" : node.changed}` : ""}` : ""}`}
                  css={node?.changed ?? (node ? "same" : "outside")}
                  isTraced={node !== undefined}
                  isSmall={placed.isSmall}
                  isChosen={chosen.value === key}
                  press={() => press(key)}
                  search={() => press(key)}
                />
              );
            })}
          </svg>
        )}
      </div>
      <ul class="legend" aria-label="Legend">
        <li><span class="key box worse">{MARK.worse}</span> worse: slower, or fails more often</li>
        <li><span class="key box better">{MARK.better}</span> better</li>
        <li><span class="key box other">{MARK.other}</span> calls more or less often</li>
        <li><span class="key line" /> the thicker, the more calls</li>
        {map.edges.some((edge) => state(edge) === "new") && <li><span class="key line new" /> only after</li>}
        {map.edges.some((edge) => state(edge) === "gone") && <li><span class="key line gone" /> only before</li>}
      </ul>
      {placed !== null && placed.omitted > 0 && <p class="fine">{count(placed.omitted)} edges with the fewest calls are not drawn.</p>}
      {suspect && (
        <div class="card evidence-of">
          <h3>Evidence against {suspect.node}</h3>
          <ul class="evidence">{suspect.evidence.slice(0, 12).map(({ sentence, is_sure }) => <li key={sentence} class={is_sure ? "" : "soft"}>{breakable(sentence)}</li>)}</ul>
        </div>
      )}
      <NodeTable nodes={map.nodes} chosen={chosen.value} />
      <EdgeTable edges={map.edges} chosen={chosen.value} />
    </section>
  );
}

function Lines({ placed, edges, only }: { placed: Placed; edges: MapEdge[]; only: string | null }) {
  const of = (index: number) => edges[placed.ways[index]?.[0] ?? -1];
  const most = Math.max(1e-9, ...edges.map(({ calls }) => Math.max(...calls)));
  const isBright = (edge: MapEdge | undefined) => only === null || edge?.caller === only || edge?.node === only;
  const written = useMemo(() => {
    const bright = placed.lines.filter(({ index }) => {
      const edge = of(index);
      return edge && isBright(edge) && (edge.changed || only !== null) && edgeTimes(edge).length > 0;
    });
    const boxes = placed.nodes.map(({ x, y, width, height }) => ({ x: x - width / 2, y: y - height / 2, width, height }));
    // Other lines obstruct labels, too: lines without a label come last and are not labelled.
    const wanted = new Set(bright.map(({ index }) => index));
    const others = placed.lines.filter(({ index }) => !wanted.has(index));
    const found = labels([...bright, ...others], boxes, LABEL, { x: 0, y: 0, width: placed.width, height: placed.height });
    for (const { index } of others) found.delete(index);
    return found;
  }, [placed, only]);
  // Changed edges are drawn above the rest.
  const ordered = placed.lines.toSorted((one, other) => Number(Boolean(of(one.index)?.changed)) - Number(Boolean(of(other.index)?.changed)));
  return ordered.map((line) => {
    const edge = of(line.index);
    if (!edge) return null;
    const at = written.get(line.index);
    const middle = (at?.x ?? 0) + LABEL.width / 2;
    const [before, after] = edgeTimes(edge);
    const width = (edge.changed ? 2.4 : 1) + 2.2 * Math.sqrt(Math.max(...edge.calls) / most);
    return (
      <g key={line.index} class={`edge ${edge.changed ?? ""} ${state(edge)} ${isBright(edge) ? "" : "dim"}`}>
        <title>{edgeName(edge)}</title>
        <path class="line" d={path(line.points)} style={{ strokeWidth: width }} />
        <polygon class="tip" points={line.tip.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />
        {at && (
          <text x={middle} y={at.y + 11}>
            {before}
            <tspan x={middle} dy="13" class="now">{edge.changed ? MARK[edge.changed] : "→"} {after}</tspan>
          </text>
        )}
      </g>
    );
  });
}
