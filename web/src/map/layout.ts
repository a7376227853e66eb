// Where the nodes of the map stand, by dagre: callers to the left of those whom they call.

import * as dagre from "@dagrejs/dagre";
import type { MapEdge, Overview } from "../data/types";

/** Edges that are drawn: more cannot be told apart, nor laid out while anybody waits. */
export const MOST_EDGES = 150;

export interface Placed {
  width: number;
  height: number;
  nodes: { index: number; x: number; y: number; width: number; height: number }[];
  edges: { index: number; points: { x: number; y: number }[]; label: { x: number; y: number } | null }[];
  /** How many edges are left out: those of the fewest messages. */
  omitted: number;
}

const HEIGHT = 46;

/** Places the nodes and edges of the map; `label` says what is written at an edge. */
export function layout(overview: Overview, label: (edge: MapEdge) => string): Placed {
  const { nodes, edges } = overview.map;
  const drawn = edges
    .map((_, index) => index)
    .sort((one, other) => messages(edges[other]) - messages(edges[one]) || one - other)
    .slice(0, MOST_EDGES);
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 26, ranksep: 110, edgesep: 14, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  const place = new Map(nodes.map((node, index) => [node.name, index]));
  for (const index of drawn) {
    for (const name of [edges[index]?.from ?? 0, edges[index]?.to ?? 0]) {
      const width = Math.max(84, Math.min(180, (overview.names[name]?.length ?? 0) * 7.4 + 34));
      graph.setNode(String(place.get(name)), { width, height: HEIGHT });
    }
  }
  for (const index of drawn) {
    const edge = edges[index];
    if (!edge) continue;
    const width = label(edge).length * 6.2 + 8;
    graph.setEdge(String(place.get(edge.from)), String(place.get(edge.to)), { width, height: 28, labelpos: "c" }, String(index));
  }
  dagre.layout(graph);
  const size = graph.graph();
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    nodes: graph.nodes().map((id) => {
      const { x, y, width, height } = graph.node(id);
      return { index: Number(id), x: x ?? 0, y: y ?? 0, width, height };
    }),
    edges: graph.edges().map((edge) => {
      const { points, x, y } = graph.edge(edge);
      const label = x === undefined || y === undefined ? null : { x, y };
      return { index: Number(edge.name), points: points ?? [], label };
    }),
    omitted: edges.length - drawn.length,
  };
}

function messages(edge: MapEdge | undefined): number {
  return (edge?.there ?? 0) + (edge?.back ?? 0);
}
