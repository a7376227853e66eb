// The total time of all patterns, split by nodes and the network: one bar each, as long as its
// share.

import { color } from "../colors";
import type { Overview } from "../data/types";
import { duration, percent } from "../format";
import { Shades } from "../legend";

/** Maximum number of named parts; the others are one. */
const NAMED = 9;
/** Nodes with a smaller share are not named. */
const LEAST = 0.003;

export function Shares({ overview }: { overview: Overview }) {
  const { nodes, edges } = overview.map;
  const sum = (of: number[]) => of.reduce((all, one) => all + one, 0);
  const between = [
    { name: "network", css: "c-network", time: sum(edges.map((edge) => edge.network_time)) },
    { name: "making connections", css: "c-connect", time: sum(edges.map((edge) => edge.connect_time)) },
    { name: "untraced nodes with their network", css: "c-untraced", time: sum(edges.map((edge) => edge.untraced_time)) },
  ];
  const all = sum(nodes.map((node) => node.time)) + sum(between.map((part) => part.time));
  if (!(all > 0)) return null;
  const ranked = nodes
    .map((node) => ({ name: overview.names[node.name] ?? "", css: color(node.name), time: node.time }))
    .concat(between)
    .toSorted((one, other) => other.time - one.time);
  const named = ranked.filter((part, place) => place < NAMED && part.time / all >= LEAST);
  const rest = sum(ranked.map((part) => part.time)) - sum(named.map((part) => part.time));
  const parts = rest > 0 ? [...named, { name: "others", css: "c-none", time: rest }] : named;
  return (
    <section class="shares" aria-labelledby="shares">
      <h2 id="shares" title="All delays of the patterns of this page, each weighted by how often it is expected to be real. Concurrent work counts separately.">
        Where the time goes
      </h2>
      <ul class="parts">
        {parts.map((part) => (
          <li key={part.name}>
            <span class="who">{part.name}</span>
            <span class="number">
              <b>{percent(part.time / all)}</b> <span class="soft">{duration(part.time)}</span>
            </span>
            <span class="bar" aria-hidden="true"><span class={part.css} style={{ width: `${(part.time / all) * 100}%` }} /></span>
          </li>
        ))}
      </ul>
      <ul class="legend" aria-label="Legend"><Shades /></ul>
    </section>
  );
}
