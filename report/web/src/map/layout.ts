// Positions of the nodes of the map, by dagre: callers before callees, from left to right or from
// top to bottom.

import * as dagre from "@dagrejs/dagre";
import { type Line, lines, type Point } from "./lines";

/** Maximum number of drawn edges: more are not distinguishable, and take too long to lay out. */
export const MOST_EDGES = 150;
/** From this number on, nodes are drawn smaller. */
const MANY_NODES = 24;
/**
 * Maximum height in pixels of a drawing with room for labels at all edges; without that room, a
 * drawing is about half as high.
 */
const HIGHEST = 860;
/** The width of a character of a node's name. */
export const CHARACTER = 7.8;
/** The size of a label at an edge, in two lines. */
export const LABEL = { width: 54, height: 27 };

export interface PlacedNode {
  /** The node's index in the overview's map. */
  index: number;
  /** The centre of the node. */
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Placed {
  width: number;
  height: number;
  nodes: PlacedNode[];
  lines: Line[];
  /** The edges of each line: edges of one pair of nodes are one line. */
  ways: number[][];
  /** Whether nodes are drawn in one line of text. */
  isSmall: boolean;
  /** The number of omitted edges, the ones with the fewest messages. */
  omitted: number;
}

/** The input of the layout: nodes by the numbers of their names, and messages between them. */
export interface Drawn {
  names: string[];
  map: { nodes: { name: number }[]; edges: Messages[] };
  /** Minimum width of a node, in pixels. */
  least?: number;
}

interface Messages {
  from: number;
  to: number;
  there: number;
  back: number;
}

/** Places the nodes and edges of the map, if possible within `room` pixels of width. */
export function layout(overview: Drawn, room: number): Placed {
  const { nodes, edges } = overview.map;
  const drawn = edges
    .map((_, index) => index)
    .sort((one, other) => messages(edges[other]) - messages(edges[one]) || one - other)
    .slice(0, MOST_EDGES);
  const ways = new Map<string, number[]>();
  for (const index of drawn) {
    const edge = edges[index];
    if (!edge) continue;
    const key = `${edge.from} ${edge.to}`;
    ways.set(key, [...(ways.get(key) ?? []), index]);
  }
  const place = new Map(nodes.map((node, index) => [node.name, index]));
  const pairs = [...ways.values()].map((of): [number, number] => {
    const edge = edges[of[0] ?? 0];
    return [place.get(edge?.from ?? 0) ?? 0, place.get(edge?.to ?? 0) ?? 0];
  });
  const names = nodes.map((node) => overview.names[node.name] ?? "");
  const laid = { ways: [...ways.values()], omitted: edges.length - drawn.length };
  const most = room < 700 ? 14 : 20;
  const wanted = { names, pairs, isDown: false, isLabelled: true, gap: 28, most, least: overview.least ?? 64 };
  // Labels at all lines are best, if they have room.
  const labelled = stretched(wanted, room, 140);
  if (labelled.width <= room && labelled.height <= HIGHEST) return { ...labelled, ...laid };
  const across = stretched({ ...wanted, isLabelled: false, gap: 45 }, room, 300);
  if (across.width <= room) return { ...across, ...laid };
  // A map that fits nowhere is as narrow as possible and scrolls.
  const down = arrange({ ...wanted, isDown: true, isLabelled: false, gap: 56 });
  return { ...(down.width <= across.width ? down : across), ...laid };
}

type Arranged = Omit<Placed, "ways" | "omitted">;

/** With ranks as far apart as there is room, from the wanted gap up to `most`. */
function stretched(wanted: Wanted, room: number, most: number): Arranged {
  const made = arrange(wanted);
  const gaps = new Set(made.nodes.map((node) => Math.round(node.x))).size - 1;
  if (made.width > room || gaps < 1) return made;
  const gap = Math.min(most, Math.floor(wanted.gap + (room - made.width) / gaps));
  const wider = arrange({ ...wanted, gap });
  return wider.width <= room ? wider : made;
}

interface Wanted {
  names: string[];
  /** The two nodes of each line. */
  pairs: [number, number][];
  /** Whether callers are above their callees. */
  isDown: boolean;
  isLabelled: boolean;
  /** Between the ranks. */
  gap: number;
  /** Maximum number of characters of a name. */
  most: number;
  /** Minimum width of a node in pixels. */
  least: number;
}

function arrange({ names, pairs, isDown, isLabelled, gap, most, least }: Wanted): Arranged {
  const met = new Set(pairs.flat());
  const isSmall = met.size >= MANY_NODES;
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: isSmall ? 10 : 20, ranksep: gap, edgesep: isLabelled ? 11 : 5, marginx: 14, marginy: 14 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const index of met) {
    const width = Math.max(least, Math.min(most, names[index]?.length ?? 0) * CHARACTER + 18) + (isSmall && !isDown ? 52 : 0);
    const height = isSmall && !isDown ? 26 : 42;
    graph.setNode(String(index), isDown ? { width: height, height: width } : { width, height });
  }
  const label = isLabelled ? { ...LABEL, labelpos: "c" } : {};
  pairs.forEach(([from, to], index) => graph.setEdge(String(from), String(to), { ...label }, String(index)));
  dagre.layout(graph);
  const size = graph.graph();
  const flat = graph.nodes().map((id) => {
    const { x, y, width, height } = graph.node(id);
    return { index: Number(id), x: x ?? 0, y: y ?? 0, width, height };
  });
  const byIndex = new Map(flat.map((node) => [node.index, node]));
  const through = new Map(graph.edges().map((edge) => [Number(edge.name), graph.edge(edge).points ?? []]));
  const drawn = lines(
    pairs.map(([from, to], index) => ({ index, from: byIndex.get(from), to: byIndex.get(to), through: through.get(index) ?? [] })),
    isLabelled ? LABEL.width / 2 : 0,
  );
  const [width, height] = [size.width ?? 0, size.height ?? 0];
  const turned = (at: Point): Point => (isDown ? { x: at.y, y: at.x } : at);
  const nodes = flat.map((node) => ({
    index: node.index,
    ...turned(node),
    ...(isDown ? { width: node.height, height: node.width } : { width: node.width, height: node.height }),
  }));
  return {
    width: isDown ? height : width,
    height: isDown ? width : height,
    nodes,
    lines: drawn.map((line) => ({ ...line, points: line.points.map(turned), tip: line.tip.map(turned) })),
    isSmall: isSmall && !isDown,
  };
}

function messages(edge: Messages | undefined): number {
  return (edge?.there ?? 0) + (edge?.back ?? 0);
}
