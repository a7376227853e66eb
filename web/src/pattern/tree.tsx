// The tree of a pattern, a line a hop: who sends to whom, the delays of node and network, and their share of the whole.

import { color } from "../colors";
import type { Details, HopDelay, Part } from "../data/types";
import { duration, percent, plural } from "../format";
import { average } from "./timing";

interface Props {
  details: Details;
  names: string[];
  chosen: { hop: number; part: Part } | null;
  choose: (delay: { hop: number; part: Part }) => void;
}

export function TreeView({ details, names, chosen, choose }: Props) {
  const { hops, tree, critical } = details;
  const by = new Map(details.delays.map((delay) => [`${delay.hop} ${delay.part}`, delay]));
  const connects = details.delays.some((delay) => delay.part === "connect");
  const cell = (delay: HopDelay | undefined) => {
    if (!delay) return <td class="number">–</td>;
    const { hop, part } = delay;
    const isChosen = chosen?.hop === hop && chosen.part === part;
    const isLargest = critical?.hop === hop && critical.part === part;
    return (
      <td class={`number ${isLargest ? "largest" : ""}`}>
        <button
          type="button"
          class="delay"
          aria-pressed={isChosen}
          title={`median ${duration(delay.p50)}, p99 ${duration(delay.p99)}: show how it is distributed`}
          onClick={() => choose({ hop, part })}
        >
          {duration(delay.mean)}
          <small>{delay.share === undefined ? duration(delay.p99) : `in ${percent(delay.share)}`}</small>
        </button>
      </td>
    );
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Call tree">
      <table class="hops">
        <caption class="visually-hidden">The messages of the path, each below the one that caused it</caption>
        <thead>
          <tr>
            <th scope="col">message</th>
            <th scope="col" class="number" title="Mean time from the receipt of the cause to the sending, and p99">at the node</th>
            <th scope="col" class="number" title="Mean time from sending to receipt, and p99">on the network</th>
            {connects && (
              <th scope="col" class="number" title="Mean time for which the node waits for a connection, where it makes one, and how often that is">connecting</th>
            )}
            <th scope="col" class="number">share</th>
          </tr>
        </thead>
        <tbody>
          {tree.map(([hop, guides, calls]) => {
            const node = by.get(`${hop} node`);
            const untraced = by.get(`${hop} untraced`);
            const network = by.get(`${hop} network`);
            const connect = by.get(`${hop} connect`);
            const time = [node, untraced, network, connect].reduce((sum, delay) => sum + (delay ? average(delay) : 0), 0);
            const share = details.duration.mean > 0 ? time / details.duration.mean : 0;
            const [src, dst] = [hops.src[hop] ?? 0, hops.dst[hop] ?? 0];
            const traced = hops.traced[hop] ?? 0;
            return (
              <tr key={hop} class={critical?.hop === hop ? "critical" : ""}>
                <th scope="row">
                  <div class="branch">
                    <span class="guides" aria-hidden="true">{guides}</span>
                    <span class="hop" style={{ paddingLeft: `${calls * 14}px` }}>
                      <span class={`chip ${traced & 1 ? color(src) : "c-untraced"}`} />
                      {names[src]}
                      <span class="arrow"> → </span>
                      {traced & 2 ? "" : "◇"}
                      {names[dst]}
                      <span class="port">{names[hops.port[hop] ?? 0]}</span>
                      {critical?.hop === hop && <span class="badge">critical</span>}
                    </span>
                  </div>
                </th>
                {cell(node ?? untraced)}
                {cell(network)}
                {connects && cell(connect)}
                <td class="number share" style={{ "--share": `${Math.min(100, share * 100)}%` }}>
                  {time > 0 ? percent(share) : ""}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {details.omitted > 0 && <p class="fine">{plural(details.omitted, "further hop")} left out.</p>}
    </div>
  );
}
