// Clusters of requests: one row each, with its number of requests, their demands and their waits.
// The bars have one scale.

import type { Cluster, Workload } from "../data/workload";
import { bytes, count, duration, percent, plural } from "../format";
import { chooseRequest, request } from "../state";
import { Ways } from "./legend";
import { Split } from "./split";
import { occurring } from "./ways";

const BYTES = ["files", "sent", "received"];

export function Clusters({ workload, shown }: { workload: Workload; shown: number | null }) {
  const { clusters, left, command } = workload;
  const sum = (cluster: Cluster) => cluster.spent.reduce((all, one) => all + one, 0);
  const longest = Math.max(1, ...clusters.map(sum));
  // A column that is empty in all rows is left out.
  const columns = BYTES.map((label, place) => ({ label, place })).filter(({ place }) => clusters.some((one) => (one.bytes[place] ?? 0) > 0));
  return (
    <section>
      <h2>
        {plural(clusters.length + left[0], "cluster")} <span class="soft">of requests that do and demand alike; choose one to see the request that stands for it</span>
      </h2>
      <div class="scroll">
        <table class="clusters">
          <caption class="visually-hidden">Clusters of requests</caption>
          <thead>
            <tr>
              <th scope="col">requests</th>
              <th scope="col" class="number">share</th>
              <th scope="col" class="number" title="Mean duration of a request">time</th>
              <th scope="col" class="spent">what it is spent on <span class="soft">by all steps of a request together, on one scale</span></th>
              {columns.map(({ label, place }) => <th key={label} scope="col" class="number" title={place === 0 ? "Mean bytes read from and written to files by a request" : "Mean bytes of a request"}>{label}</th>)}
            </tr>
          </thead>
          <tbody>
            {clusters.map((cluster) => {
              const isShown = shown === cluster.representative;
              return (
                <tr key={cluster.representative} class={isShown ? "open" : ""}>
                  <th scope="row">
                    <button
                      type="button"
                      class="quiet"
                      data-cluster={cluster.representative}
                      aria-pressed={isShown}
                      onClick={() => chooseRequest(request.value === cluster.representative ? null : cluster.representative)}
                    >
                      <b>{count(cluster.requests)}</b> {names(cluster)}
                    </button>
                  </th>
                  <td class="number" data-label="share">
                    <span class="bar" aria-hidden="true"><span style={{ width: `${cluster.share * 100}%` }} /></span>
                    {percent(cluster.share)}
                  </td>
                  <td class="number" data-label="time" title={`from ${duration(cluster.range[0])} to ${duration(cluster.range[1])}`}>{duration(cluster.time)}</td>
                  <td class="spent">
                    <span class="track"><span style={{ width: `${(sum(cluster) / longest) * 100}%` }}><Split spent={cluster.spent} of="Mean of a request" /></span></span>
                  </td>
                  {columns.map(({ label, place }) => (
                    <td key={label} class="number" data-label={label}>{cluster.bytes[place] ? bytes(cluster.bytes[place]) : "–"}</td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <Ways ways={occurring(clusters.map(({ spent }) => spent))} />
      {left[0] > 0 && (
        <p class="fine">{plural(left[0], "further cluster")} with {plural(left[1], "request")} not part of this page: <code>{command}</code></p>
      )}
    </section>
  );
}

/** The names of a cluster's requests, with their numbers if there are several. */
function names({ names, more_names }: Cluster): string {
  const said = names.map(([name, requests]) => (names.length + more_names > 1 ? `${count(requests)} ${name || "others"}` : name));
  return said.join(", ") + (more_names > 0 ? ", …" : "");
}
