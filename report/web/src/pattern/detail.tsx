// The details of one pattern: its timeline, its tree, the distributions of its delays, and its
// instances.

import { useEffect, useState } from "preact/hooks";
import type { Source } from "../data/source";
import type { Details, HopDelay, Instance, Overview } from "../data/types";
import { Facts } from "../facts";
import { count, duration, expected, percent } from "../format";
import { Shades } from "../legend";
import { confidence, route } from "../patterns/rank";
import { delay, instance } from "../state";
import { DistributionView } from "./distribution";
import { InstancesView } from "./instances";
import { TimelineView } from "./timeline_view";
import { TreeView } from "./tree";

interface Props {
  source: Source;
  overview: Overview;
  rank: number;
}

export function Detail({ source, overview, rank }: Props) {
  const [details, setDetails] = useState<Details | null>(null);
  const [failed, setFailed] = useState("");
  const [shown, setShown] = useState<Instance | null>(null);
  useEffect(() => {
    let isWanted = true;
    setFailed("");
    source
      .details(rank)
      .then((found) => isWanted && (setDetails(found), setShown(null)))
      .catch((error: Error) => isWanted && setFailed(error.message));
    return () => {
      isWanted = false;
    };
  }, [source, rank]);

  const { patterns, names } = overview;
  const share = overview.total_time > 0 ? (patterns.total[rank] ?? 0) / overview.total_time : 0;
  const facts: [string, string][] = [
    [percent(share), "of all time"],
    [duration(patterns.mean[rank]), "mean"],
    [duration(patterns.p50[rank]), "median"],
    [duration(patterns.p99[rank]), "p99"],
    [count(patterns.count[rank] ?? 0), patterns.count[rank] === 1 ? "instance" : "instances"],
    [expected(patterns.expected[rank] ?? 0), "expected"],
    [percent(confidence(patterns, rank)), "confidence"],
  ];
  const isIt = details !== null && details.id === patterns.id[rank];
  const chosen = isIt ? (find(details, delay.value) ?? null) : null;
  return (
    <article class="detail" aria-label={`Pattern ${patterns.id[rank]}`}>
      <h2><span class="rank">#{patterns.id[rank]}</span> {route(overview, rank)}</h2>
      <Facts facts={facts} />
      {failed && <p class="error" role="alert">{failed}</p>}
      {!isIt && !failed && <p class="fine" role="status">Loading…</p>}
      {isIt && details && (
        <>
          <section>
            <h3>
              {shown ? `Instance ${(instance.value ?? 0) + 1}, ${percent(shown.probability)} likely` : "On average"}
              <span class="soft"> {duration(shown ? shown.duration : details.duration.mean)}</span>
            </h3>
            <TimelineView details={details} instance={shown} names={names} chosen={delay.value} choose={(one) => (delay.value = one)} />
            <Legend details={details} />
            <InstancesView source={source} rank={rank} built={patterns.count[rank] ?? 0} show={setShown} />
          </section>
          <section>
            <h3>
              Distribution
              {chosen && <button type="button" class="quiet" onClick={() => (delay.value = null)}>of the whole path</button>}
            </h3>
            <DistributionView title={chosen ? title(chosen, details, names) : "the whole path"} delay={chosen ?? details.duration} />
          </section>
          <section>
            <h3>Call tree</h3>
            <TreeView details={details} names={names} chosen={delay.value} choose={(one) => (delay.value = one)} />
          </section>
        </>
      )}
    </article>
  );
}

function find(details: Details, wanted: typeof delay.value): HopDelay | undefined {
  return details.delays.find((one) => one.hop === wanted?.hop && one.part === wanted.part);
}

/** The name of a delay, in words. */
function title(of: HopDelay, { hops }: Details, names: string[]): string {
  const [src, dst] = [names[hops.src[of.hop] ?? 0], names[hops.dst[of.hop] ?? 0]];
  switch (of.part) {
    case "node":
      return `${src} before it sends to ${dst}`;
    case "network":
      return `network from ${src} to ${dst}`;
    case "untraced":
      return `untraced ${src} and its network`;
    case "connect":
      return `connecting from ${src} to ${dst}, in ${percent(of.share ?? 1)} of the instances`;
  }
}

function Legend({ details }: { details: Details }) {
  const has = (part: HopDelay["part"]) => details.delays.some((delay) => delay.part === part);
  return (
    <ul class="legend" aria-label="Legend">
      <li><span class="key box" /> node at work</li>
      <Shades />
      <li><span class="key line" /> network</li>
      {has("connect") && <li><span class="key connect" /> node waiting for a connection</li>}
      {has("untraced") && <li><span class="key diamond" /> untraced node with its network</li>}
      <li><span class="key crit" /> largest delay on the longest branch</li>
    </ul>
  );
}
