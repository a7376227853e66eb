// The tree of a pattern, one line per hop: sender and receiver, the delays of node and network, and
// their share of the whole.

import { color } from "../colors";
import type { Details, HopDelay, Part } from "../data/types";
import { duration, percent, plural } from "../format";
import { average } from "./timing";

const PARTS: Part[] = ["node", "untraced", "network", "connect"];

interface Props {
  details: Details;
  names: string[];
  chosen: { hop: number; part: Part } | null;
  choose: (delay: { hop: number; part: Part }) => void;
}

export function TreeView({ details, names, chosen, choose }: Props) {
  const { hops, tree, critical } = details;
  const by = new Map(details.delays.map((delay) => [`${delay.hop} ${delay.part}`, delay]));
  // As on a terminal: shown if it takes a hundredth of the path's time.
  const connects = details.delays.some((delay) => delay.part === "connect" && average(delay) >= 0.01 * details.duration.mean);
  const time = (hop: number) =>
    PARTS.reduce((sum, part) => sum + (by.has(`${hop} ${part}`) ? average(by.get(`${hop} ${part}`) as HopDelay) : 0), 0);
  const longest = Math.max(0, ...tree.map(([hop]) => time(hop)));
  /** The mean of a delay with a second value, each with its name for layouts without columns. */
  const cells = (name: string, delay: HopDelay | undefined, beside: string, of: (delay: HopDelay) => string) => {
    if (!delay) return <td class="none" colspan={2}>–</td>;
    const { hop, part } = delay;
    const isChosen = chosen?.hop === hop && chosen.part === part;
    const isLargest = critical?.hop === hop && critical.part === part;
    return (
      <>
        <td class={`number ${isLargest ? "largest" : ""}`} data-label={name}>
          <button
            type="button"
            class="delay"
            aria-pressed={isChosen}
            title={`median ${duration(delay.p50)}, p99 ${duration(delay.p99)}: show how it is distributed`}
            onClick={() => choose({ hop, part })}
          >
            {duration(delay.mean)}
          </button>
        </td>
        <td class="number beside" data-label={beside}>{of(delay)}</td>
      </>
    );
  };
  const p99 = (delay: HopDelay) => duration(delay.p99);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Call tree">
      <table class="hops">
        <caption class="visually-hidden">The messages of the path, each below the one that caused it</caption>
        <thead>
          <tr>
            <th scope="col" rowspan={2}>message</th>
            <th scope="colgroup" colspan={2} title="From the receipt of the cause to the sending">at the node</th>
            <th scope="colgroup" colspan={2} title="From sending to receipt">on the network</th>
            {connects && <th scope="colgroup" colspan={2} title="For how long the node waits for a connection, where it makes one">connecting</th>}
            <th scope="col" rowspan={2} class="of-path">share of the path</th>
          </tr>
          <tr>
            <th scope="col" class="number">mean</th>
            <th scope="col" class="number">p99</th>
            <th scope="col" class="number">mean</th>
            <th scope="col" class="number">p99</th>
            {connects && <th scope="col" class="number">mean</th>}
            {connects && <th scope="col" class="number">in</th>}
          </tr>
        </thead>
        <tbody>
          {tree.map(([hop, guides, calls]) => {
            const node = by.get(`${hop} node`);
            const untraced = by.get(`${hop} untraced`);
            const network = by.get(`${hop} network`);
            const connect = by.get(`${hop} connect`);
            const share = details.duration.mean > 0 ? time(hop) / details.duration.mean : 0;
            const bar = longest > 0 ? time(hop) / longest : 0;
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
                      {(hops.errors?.[hop] ?? 0) > 0 && <span class="error"> {percent(hops.errors?.[hop] ?? 0)} failed</span>}
                      {critical?.hop === hop && <span class="badge">critical</span>}
                    </span>
                  </div>
                </th>
                {cells("node", node ?? untraced, "p99", p99)}
                {cells("network", network, "p99", p99)}
                {connects && cells("connecting", connect, "in", (delay) => percent(delay.share ?? 1))}
                <td class="of-path" data-label={time(hop) > 0 ? "share" : undefined}>
                  {time(hop) > 0 && (
                    <>
                      <span class="bar" aria-hidden="true"><span style={{ width: `${bar * 100}%` }} /></span>
                      <span class="number">{percent(share)}</span>
                    </>
                  )}
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
