// A mutation next to its originator, or next to itself in the first period: in words, as two
// timelines, as two distributions, and step by step.

import { useMemo } from "preact/hooks";
import type { Comparison, Mutation, Originator } from "../data/comparison";
import { Facts } from "../facts";
import { breakable, count, duration, percent, plural } from "../format";
import { compared, type Compared, isEmpty } from "./changes";
import { originator } from "./state";
import { Steps } from "./steps";
import { GLYPH, Timelines } from "./timelines";
import { shape } from "./two";
import { TwoView } from "./two_view";
import { both, kindOf, MARK, operation, requests, signed } from "./words";

/** Maximum number of changes and originators in the lists. */
const [CHANGES, ORIGINATORS] = [8, 12];

interface Props {
  comparison: Comparison;
  mutation: Mutation;
  number: number;
}

export function MutationView({ comparison, mutation, number }: Props) {
  const { tree, originators } = mutation;
  const beside = originators[originator.value - 1] ?? originators[0] ?? null;
  const of = useMemo(() => compared(mutation, beside), [mutation, beside]);
  const root = tree.places[0];
  const { word, css } = kindOf({ kind: mutation.kind, mean_ns: tree.mean_ns });
  const all = comparison.periods[1].expected;
  const facts: [string, string][] = [
    [signed(mutation.contribution_ns), "of response times after, in all"],
    ...(all > 0 ? [[signed(mutation.contribution_ns / all), "of the mean response time"] as [string, string]] : []),
    [`${requests(tree.counts[0])} → ${requests(tree.counts[1])}`, "requests"],
    ...(mutation.shares ? [[mutation.shares.map(percent).join(" → "), "of such requests"] as [string, string]] : []),
    [tree.counts.every((count) => count > 0) ? both(tree.mean_ns) : duration(tree.mean_ns[tree.counts[1] > 0 ? 1 : 0]), "mean"],
    [count(tree.places.length), tree.places.length === 1 ? "step" : "steps"],
    [small(mutation.adjusted), "p-value, all tests together"],
  ];
  const isNew = tree.counts[0] === 0;
  const titles: [string, string] = [
    beside
      ? `before: originator, ${requests(beside.tree.counts[0])} requests, mean ${duration(beside.tree.mean_ns[0])}`
      : `before: ${isNew ? "no such request" : `${requests(tree.counts[0])} requests, mean ${duration(tree.mean_ns[0])}`}`,
    `after: ${requests(tree.counts[1])} requests, mean ${duration(tree.mean_ns[1])}`,
  ];
  return (
    <article class="detail mutation" aria-label={`Mutation ${number}`}>
      <h2>
        <span class="rank">#{number}</span> {breakable(root ? operation(root) : "?")} <span class={`kind ${css}`}>{MARK[css]} {word}</span>
      </h2>
      <Facts facts={facts} />
      {originators.length > 0 && beside && <Originators mutation={mutation} beside={beside} />}
      {mutation.kind === "structural" && originators.length === 0 && (
        <p class="sentence soft">No other requests of this kind became fewer: it is not known what they looked like before.</p>
      )}
      {mutation.explanation && mutation.explanation.sentences.length > 0 && (
        <section class="explanation">
          <h3>What distinguishes them <span class="soft">from those {beside ? "of the originator" : "before"}</span></h3>
          <ul class="evidence">{mutation.explanation.sentences.map(({ text }) => <li key={text}>{text}</li>)}</ul>
        </section>
      )}
      <section>
        <h3>Timelines <span class="soft">of mean times on the critical path</span></h3>
        <div class="card two-timelines">
          <Timelines compared={of} titles={titles} />
        </div>
        <Changes compared={of} />
        <ul class="legend" aria-label="Legend">
          <li><span class="key box work" /> at work</li>
          <li><span class="key box wait" /> waits for others</li>
          <li><span class="key line" /> on the way</li>
          <li><span class="key box hatched worse" /> {beside ? "only after" : "slower"}</li>
          <li><span class="key box hatched better" /> {beside ? "only before" : "faster"}</li>
        </ul>
      </section>
      <section>
        <h3>Response times</h3>
        <TwoView
          of="response times of these requests"
          shapes={[shape(of.before.tree.distribution, 0), shape(tree.distribution, 1)]}
          {...(isEmpty(of.before) ? {} : { marked: [of.before.tree.mean_ns[0], tree.mean_ns[1]] as const, mark: "mean" })}
          sides={beside ? ["originator before", "mutation after"] : ["before", "after"]}
        />
      </section>
      <Steps compared={of} />
    </article>
  );
}

function small(value: number): string {
  return value < 0.001 ? "<0.001" : value.toFixed(3);
}

function Originators({ mutation, beside }: { mutation: Mutation; beside: Originator }) {
  const { originators, tree } = mutation;
  const [there, here] = [beside.tree.places[beside.parting[1]], tree.places[beside.parting[0]]];
  return (
    <section>
      <p class="sentence">
        Such requests probably took another path before: one of {plural(beside.tree.places.length, "step")}, of which there were{" "}
        {requests(beside.tree.counts[0])} and are {requests(beside.tree.counts[1])} (distance {beside.distance.toFixed(2)}).
        {here && there && (
          <>
            {" "}They diverge at <b>{operation(here)}</b>
            {operation(there) !== operation(here) && <>, where <b>{operation(there)}</b> was</>}.
          </>
        )}
      </p>
      {originators.length > 1 && (
        <div id="originators" class="tools" role="group" aria-label="Originator to compare with">
          <span class="soft">possible originators</span>
          {originators.slice(0, ORIGINATORS).map((one, at) => (
            <button
              key={one.tree.category}
              type="button"
              aria-pressed={one === beside}
              title={`distance ${one.distance.toFixed(2)}, ${requests(one.tree.counts[0])} → ${requests(one.tree.counts[1])} requests`}
              onClick={() => (originator.value = at + 1)}
            >
              {at + 1}
            </button>
          ))}
        </div>
      )}
    </section>
  );
}

function Changes({ compared: { marked, before } }: { compared: Compared }) {
  if (marked.length === 0) return <p class="fine">{isEmpty(before) ? "There were no such requests before." : "No single step changed beyond what chance explains."}</p>;
  return (
    <ul class="changes" aria-label="What changed">
      {marked.slice(0, CHANGES).map(({ number, what, css, text, times, below, ns }) => (
        <li key={number}>
          <span class={`mark ${css}`}>{GLYPH[what] ?? MARK[css]}{number}</span>
          <span>
            {breakable(text)}
            {times && <b>: {both(times)} ({signed(times[1] - times[0])})</b>}
            {!times && (
              <span class="soft">
                {what === "added" ? " only after" : " only before"}
                {below > 0 && `, with ${plural(below, "step")} below`}
                {ns > 0 ? <>: <b>{duration(ns)}</b></> : "; nothing waits for it"}
              </span>
            )}
          </span>
        </li>
      ))}
      {marked.length > CHANGES && <li class="soft">and {plural(marked.length - CHANGES, "more change")}</li>}
    </ul>
  );
}
