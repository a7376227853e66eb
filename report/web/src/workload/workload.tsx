// Costs of requests: their clusters, the unusual ones, and the selected request with its steps, and
// its threads and processors over time.

import { useEffect, useState } from "preact/hooks";
import type { Source } from "../data/source";
import type { Overview } from "../data/types";
import type { Example, Workload } from "../data/workload";
import { Facts } from "../facts";
import { count, duration, percent, plural } from "../format";
import { request } from "../state";
import { Clusters } from "./clusters";
import { Steps } from "./steps";
import { Threads } from "./threads_view";
import { UnusualRequests } from "./unusual";

interface Props {
  source: Source;
  overview: Overview;
}

export function WorkloadView({ source, overview }: Props) {
  const [workload, setWorkload] = useState<Workload | null>(null);
  const [failed, setFailed] = useState("");
  const isThere = overview.workload === true;
  useEffect(() => {
    let isWanted = isThere;
    if (isThere) {
      source.workload().then(
        (found) => isWanted && setWorkload(found),
        (error: Error) => isWanted && setFailed(error.message),
      );
    }
    return () => {
      isWanted = false;
    };
  }, [source, isThere]);
  if (!isThere) return <p class="fine" role="status">This page does not say what requests cost: resources were not recorded (sockcap record --resources).</p>;
  if (failed) return <p class="error" role="alert">{failed}</p>;
  if (!workload) return <p class="fine" role="status">Loading…</p>;
  return <Loaded overview={overview} workload={workload} />;
}

function Loaded({ overview, workload }: { overview: Overview; workload: Workload }) {
  const { requests, processor, charged, error, clusters, examples } = workload;
  // By default, the request of the first cluster is shown.
  const wanted = request.value ?? clusters[0]?.representative ?? null;
  const example = examples.find((one) => one.request === wanted);
  const facts: [string, string][] = [[count(requests), requests === 1 ? "request" : "requests"]];
  if (processor !== null && charged !== null) {
    facts.push([duration(processor), "of processor time of their processes"], [percent(charged), "of it charged to them"]);
  }
  const errors = [["processor", error.processor], ["disk", error.disk], ["network", error.network]] as const;
  for (const [what, share] of errors) if (share !== null) facts.push([percent(share), `error of the model, ${what}`]);
  return (
    <div class="workload">
      <section class="shares" aria-label="All requests">
        <p class="lead">
          Requests with similar steps and demands are a cluster. The clusters and their shares are a model of the workload, each with a representative request.
        </p>
        <Facts facts={facts} />
        {overview.filtered.length > 0 && <p class="fine" role="note">These are all requests, not only those of the part of the trace above.</p>}
      </section>
      <Clusters workload={workload} shown={wanted} />
      <UnusualRequests workload={workload} />
      {example && <OneRequest key={example.request} example={example} />}
      {!example && wanted !== null && (
        <p class="fine" role="status">Request {count(wanted)} is not part of this page: <code>{workload.command} --request {wanted}</code></p>
      )}
    </div>
  );
}

function OneRequest({ example }: { example: Example }) {
  return (
    <article class="detail" aria-label={`Request ${example.request}`}>
      <h2>
        Request {count(example.request)} <span class="soft">{example.name}, {duration(example.time)}, {plural(example.steps.length + example.left, "step")}</span>
      </h2>
      <Steps example={example} />
      <Threads example={example} />
    </article>
  );
}
