// Trace-context profiling: the operations that take longer in one context than in another, and
// their contexts. On the left the operations, on the right the selected one.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type Contexts, LEVELS } from "../data/contexts";
import type { Source } from "../data/source";
import type { Overview } from "../data/types";
import { Facts } from "../facts";
import { count, duration, percent, plural } from "../format";
import { chooseOperation, operation } from "../state";
import { OperationList } from "./list";
import { OperationView } from "./operation";
import { listed, type Rank } from "./rank";

interface Props {
  source: Source;
  overview: Overview;
}

export function ContextsView({ source, overview }: Props) {
  const [contexts, setContexts] = useState<Contexts | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let isWanted = overview.contexts;
    if (overview.contexts) {
      source.contexts().then(
        (found) => isWanted && setContexts(found),
        (error: Error) => isWanted && setFailed(error.message),
      );
    }
    return () => {
      isWanted = false;
    };
  }, [source, overview]);
  if (!overview.contexts) return <p class="fine" role="status">This page has no contexts: there were no requests when it was made.</p>;
  if (failed) return <p class="error" role="alert">{failed}</p>;
  if (!contexts) return <p class="fine" role="status">Loading…</p>;
  return <Loaded source={source} overview={overview} contexts={contexts} />;
}

/** The share of a deviation that is explained. */
function less(share: number): string {
  return share > 0.0005 ? `−${percent(share)}` : "as much";
}

function Loaded({ source, overview, contexts }: Props & { contexts: Contexts }) {
  const rank = useSignal<Rank>("explained");
  const query = useSignal("");
  const operations = useComputed(() => listed(contexts, rank.value, query.value)).value;
  const chosen = operation.value === null ? operations[0] : contexts.operations.find(({ id }) => id === operation.value);
  const facts: [string, string][] = [
    [count(contexts.operation_count), contexts.operation_count === 1 ? "operation" : "operations"],
    [count(contexts.requests), contexts.requests === 1 ? "request" : "requests"],
    [count(contexts.steps), contexts.steps === 1 ? "call" : "calls"],
    [duration(contexts.deviation), "standard deviation of an operation"],
    ...LEVELS.map((level): [string, string] => [less(contexts.decrease[level]), `within ${level}-contexts`]),
  ];
  return (
    <div class={operation.value === null ? "contexts" : "contexts chosen"}>
      <section class="shares" aria-label="All operations">
        <p class="lead">
          What a call has to do depends on where it comes from: on its caller, on the whole stack of callers, or on all that its request does (trace).
          Where response times differ less within such contexts than altogether, the context decides.
        </p>
        <Facts facts={facts} />
        {overview.filtered.length > 0 && <p class="fine" role="note">Contexts are those of all requests, not only of the part of the trace above.</p>}
        {contexts.torn > 0 && <p class="fine">{plural(contexts.torn, "request")} whose beginning was not seen count as they are.</p>}
      </section>
      <div class="panes">
        <OperationList contexts={contexts} operations={operations} chosen={chosen} rank={rank} query={query} />
        <div class="pane">
          {operation.value !== null && (
            <button type="button" class="quiet back" onClick={() => chooseOperation(null)}>← all operations</button>
          )}
          {chosen && <OperationView key={chosen.id} source={source} overview={overview} contexts={contexts} operation={chosen} />}
          {!chosen && operation.value !== null && <p class="error" role="alert">Operation {operation.value} is not part of this page.</p>}
        </div>
      </div>
    </div>
  );
}
