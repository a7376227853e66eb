// Where the time of all patterns together goes: to which nodes, and to the network.

import { color } from "../colors";
import type { Overview } from "../data/types";
import { duration, percent } from "../format";

/** Nodes that are named; the others are one. */
const NAMED = 10;

export function Shares({ overview }: { overview: Overview }) {
  const { nodes, edges } = overview.map;
  const ranked = nodes.filter((node) => node.time > 0).toSorted((one, other) => other.time - one.time);
  const sum = (of: number[]) => of.reduce((all, one) => all + one, 0);
  const parts = [
    ...ranked.slice(0, NAMED).map((node) => ({ name: overview.names[node.name] ?? "", css: color(node.name), time: node.time })),
    { name: "other nodes", css: "c-none", time: sum(ranked.slice(NAMED).map((node) => node.time)) },
    { name: "network", css: "c-network", time: sum(edges.map((edge) => edge.network_time)) },
    { name: "making connections", css: "c-connect", time: sum(edges.map((edge) => edge.connect_time)) },
    { name: "untraced nodes with their network", css: "c-untraced", time: sum(edges.map((edge) => edge.untraced_time)) },
  ].filter((part) => part.time > 0);
  const all = sum(parts.map((part) => part.time));
  return (
    <section aria-label="Where the time goes">
      <h2>Where the time goes</h2>
      <p class="lead">
        All delays of the patterns of this page, each as often as it is expected to be real. Work that goes on at the same time counts each time.
        Choose a pattern to see its own.
      </p>
      <div class="stack" aria-hidden="true">
        {parts.map((part) => <span key={part.name} class={part.css} style={{ flexGrow: part.time / all }} />)}
      </div>
      <ul class="parts">
        {parts.map((part) => (
          <li key={part.name}>
            <span class={`key ${part.css}`} />
            <span class="who">{part.name}</span> <b>{percent(part.time / all)}</b> <span class="soft">{duration(part.time)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
