// The details of a context: some of its requests, from the slowest to the fastest, and for a
// trace-context the tree of its requests.

import { batch } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Context, Contexts, Example } from "../data/contexts";
import type { Source } from "../data/source";
import type { Overview } from "../data/types";
import { count, duration, plural } from "../format";
import { choose, instance, order, tab } from "../state";
import { ClassTree } from "./class_tree";

interface Props {
  source: Source;
  overview: Overview;
  contexts: Contexts;
  context: Context;
}

export function Opened({ source, overview, contexts, context }: Props) {
  const [missing, setMissing] = useState<Example | null>(null);
  const examples = context.times?.examples ?? [];
  const press = (example: Example) => show(source, overview, example).then((isShown) => setMissing(isShown ? null : example));
  const ofClass = context.class === undefined ? undefined : contexts.classes.find(({ number }) => number === context.class);
  return (
    <div class="requests">
      {(context.failed ?? 0) > 0 && <p class="fine">{plural(context.failed ?? 0, "call")} failed.</p>}
      {(context.outliving ?? 0) > 0 && <p class="fine">{plural(context.outliving ?? 0, "call")} went on after the caller had ended.</p>}
      {examples.length > 0 ? (
        <>
          <p class="soft">{examples.length < context.timed ? `Some of its requests, from the slowest to the fastest` : "Its requests"}:</p>
          <ol class="rows">
            {examples.map((example) => (
              <li key={example[0]}>
                <button type="button" onClick={() => press(example)}>
                  <span>{duration(example[1])}</span>
                  <span class="soft">request {count(example[0])}{example[2] >= 0 ? ` of pattern #${example[2]}` : ""}</span>
                </button>
              </li>
            ))}
          </ol>
        </>
      ) : (
        <p class="soft">None of its calls has a response time.</p>
      )}
      {missing && (
        <p class="missing" role="status">
          Request {count(missing[0])} is not among the instances of this page
          {missing[2] >= 0 && (
            <>
              , but{" "}
              <button type="button" class="quiet" onClick={() => toPattern(missing[2])}>pattern #{missing[2]}</button>, which it is of, is there
              {contexts.commands.instances && <>; <code>{contexts.commands.instances}</code> has all instances</>}
            </>
          )}
          . Its steps: <code>{stepsOf(contexts.commands.steps, missing[0])}</code>
        </p>
      )}
      {ofClass && <ClassTree of={ofClass} step={context.step ?? 0} names={contexts.names} />}
    </div>
  );
}

/** The command that prints the steps of a request below their header. */
export function stepsOf(command: string, request: number): string {
  return `${command} | grep -E '^(request|${request}),'`;
}

function toPattern(pattern: number): void {
  batch(() => {
    choose(pattern);
    tab.value = "patterns";
  });
}

/**
 * Shows the request of an example as an instance of its pattern; returns false if it does not
 * exist.
 */
async function show(source: Source, overview: Overview, [, , pattern, path]: Example): Promise<boolean> {
  const rank = overview.patterns.id.indexOf(pattern);
  if (rank < 0) return false;
  const place = await source.place(rank, order.value, path).catch(() => null);
  if (place === null) return false;
  batch(() => {
    toPattern(pattern);
    instance.value = place;
  });
  return true;
}
