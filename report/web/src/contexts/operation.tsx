// An operation: the distribution of its response times, in total and in each of its contexts.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { shaded } from "../colors";
import { type Contexts, type Level, LEVELS, type Operation } from "../data/contexts";
import type { Source } from "../data/source";
import type { Overview } from "../data/types";
import { Facts } from "../facts";
import { count, duration, percent, plural } from "../format";
import { Shades } from "../legend";
import { chooseLevel, level } from "../state";
import { ContextTable } from "./context_table";
import { Bar } from "./list";
import { firstLevel, parts } from "./rank";
import { Stacked } from "./stacked";

/** The colour of contexts that all take about as long. */
const ALIKE = "heat-1";

interface Props {
  source: Source;
  overview: Overview;
  contexts: Contexts;
  operation: Operation;
}

export function OperationView({ source, overview, contexts, operation }: Props) {
  const { times } = operation;
  const shown = level.value ?? firstLevel(operation);
  const of = operation.contexts[shown];
  const hovered = useSignal<number | null>(null);
  const { css, shades } = useMemo(() => colored(of.shown), [of]);
  const facts: [string, string][] = [
    [count(operation.count), operation.count === 1 ? "call" : "calls"],
    [duration(times?.mean), "mean"],
    [duration(times?.deviation), "standard deviation"],
    [duration(times?.q1), "first quartile"],
    [duration(times?.median), "median"],
    [duration(times?.q3), "third quartile"],
    [times?.modes ? count(times.modes) : "–", times?.modes === 1 ? "mode" : "modes"],
  ];
  if (operation.failed) facts.push([count(operation.failed), "failed"]);
  if (operation.outliving) facts.push([count(operation.outliving), "longer than their caller"]);
  return (
    <article class="detail" aria-label={`Operation ${operation.name}`}>
      <h2>{operation.name}</h2>
      <p class={operation.reason ? "sentence" : "sentence soft"}>{operation.sentence}.</p>
      <Facts facts={facts} />
      <section class="levels" role="group" aria-label="Kind of contexts">
        {LEVELS.map((one) => <LevelButton key={one} level={one} operation={operation} isShown={one === shown} />)}
      </section>
      {times && operation.bins ? (
        <section>
          <h3>Distribution <span class="soft">of {count(operation.timed)} response times, in colours by {shown}-context</span></h3>
          <Stacked operation={operation} contexts={of.shown} css={css} hovered={hovered} />
          <ul class="legend" aria-label="Legend">
            <Shades shades={shades} of="a context" />
            {of.all > of.shown.length && <li><span class="key others" /> other contexts</li>}
            <li><span class="key median" /> quartiles</li>
          </ul>
        </section>
      ) : (
        <p class="fine">No call has a response time.</p>
      )}
      <section>
        <h3>
          {plural(of.all, `${shown}-context`)}{" "}
          <span class="soft">
            {of.shown.some(({ slow }) => slow) ? "those that make it slow first, then " : ""}by calls; choose one to see its requests
          </span>
        </h3>
        <ContextTable source={source} overview={overview} contexts={contexts} operation={operation} level={shown} css={css} hovered={hovered} />
      </section>
    </article>
  );
}

/** The colours of contexts, by index. If all are alike, none is darker than the others. */
function colored(contexts: Operation["contexts"][Level]["shown"]): ReturnType<typeof shaded> {
  const timed = contexts.filter(({ times }) => times && times.mean > 0);
  const { css, shades } = shaded(timed.map(({ times }) => times?.mean ?? 1));
  const shown = (one: string) => (shades.length === 1 ? ALIKE : one);
  const of = new Map(timed.map((context, place) => [context, shown(css[place] ?? "")]));
  return {
    css: contexts.map((context) => of.get(context) ?? "c-none"),
    shades: shades.map((shade) => ({ ...shade, css: shown(shade.css) })),
  };
}

function LevelButton({ level, operation, isShown }: { level: Level; operation: Operation; isShown: boolean }) {
  const explained = operation.explained[level];
  const [sure, chance] = parts(explained);
  return (
    <button type="button" aria-pressed={isShown} data-level={level} onClick={() => chooseLevel(level)}>
      <span class="what"><b>{level}</b> <span class="soft">{plural(operation.contexts[level].all, "context")}</span></span>
      <Bar sure={sure} chance={chance} />
      {operation.times && (
        <span class="figures">
          <b>{percent(sure + chance)}</b> of the deviation explained
          <span class="soft">{chance > 0.0005 ? `, ${percent(chance)} as chance would` : ""}; {duration(explained.deviation)} within</span>
        </span>
      )}
    </button>
  );
}
