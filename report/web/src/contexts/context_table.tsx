// The contexts of an operation, one row each: its figures, and its distribution on the common axis.
// The selected row has its requests below it.

import type { Signal } from "@preact/signals";
import type { Context, Contexts, Level, Operation, Summary } from "../data/contexts";
import type { Source } from "../data/source";
import type { Overview } from "../data/types";
import { count, duration, plural } from "../format";
import { context } from "../state";
import { Opened } from "./opened";
import { outline, scale, type Scale, ticks } from "./scale";
import { Axis } from "./stacked";

/** Maximum number of labels of the axis, which is short. */
const LABELS = 3;
/** Number of columns: the figures and two more. */
const COLUMNS = 8;

interface Props {
  source: Source;
  overview: Overview;
  contexts: Contexts;
  operation: Operation;
  level: Level;
  css: string[];
  hovered: Signal<number | null>;
}

export function ContextTable({ source, overview, contexts, operation, level, css, hovered }: Props) {
  const of = operation.contexts[level];
  const axis = operation.bins && operation.times ? scale(operation.bins) : null;
  const left = of.all - of.shown.length;
  const press = (one: Context) => (context.value = context.value === one.id ? null : one.id);
  return (
    <>
      <div class="scroll">
        <table class="by-context">
          <caption class="visually-hidden">The {level}-contexts of {operation.name}</caption>
          <thead>
            <tr>
              <th scope="col">{level}-context</th>
              <th scope="col" class="number">calls</th>
              <th scope="col" class="number">mean</th>
              <th scope="col" class="number" title="Standard deviation">sd</th>
              <th scope="col" class="number" title="First quartile">q1</th>
              <th scope="col" class="number">median</th>
              <th scope="col" class="number" title="Third quartile">q3</th>
              <th scope="col" class="shape">
                <span class="visually-hidden">distribution</span>
                {axis && <Axis labels={ticks(axis, LABELS)} place={axis.place} />}
              </th>
            </tr>
          </thead>
          <tbody>
            <tr class="all">
              <th scope="row">all calls</th>
              <Figures summary={operation} axis={axis} css="all" />
            </tr>
            {of.shown.map((one, place) => {
              const isOpen = context.value === one.id;
              return [
                <tr
                  key={one.id}
                  class={`${isOpen ? "open" : ""} ${one.slow ? "slow" : ""}`}
                  onMouseEnter={() => (hovered.value = one.id)}
                  onMouseLeave={() => (hovered.value = null)}
                >
                  <th scope="row">
                    <button type="button" class="quiet" data-context={one.id} aria-expanded={isOpen} onClick={() => press(one)}>
                      <span class={`chip ${css[place]}`} />
                      <span>
                        {one.name} {one.slow && <span class="badge">slow</span>}
                        {one.class !== undefined && <small>{inShort(contexts, one.class)}</small>}
                      </span>
                    </button>
                  </th>
                  <Figures summary={one} axis={axis} css={css[place] ?? ""} />
                </tr>,
                isOpen && (
                  <tr key={`${one.id} open`} class="opened">
                    <td colSpan={COLUMNS}><Opened source={source} overview={overview} contexts={contexts} context={one} /></td>
                  </tr>
                ),
              ];
            })}
          </tbody>
        </table>
      </div>
      <p class="fine">
        {axis && "A distribution is as high as its highest bar. The thick line below it goes from the first to the third quartile, with a mark at the median."}
        {left > 0 && (
          <>
            {" "}{count(left)} further contexts with {count(of.left_calls)} calls are not part of this page: <code>{contexts.commands.contexts}</code>
          </>
        )}
      </p>
    </>
  );
}

/** The requests of a class in a few words. */
function inShort({ classes, names }: Contexts, of: number): string {
  const found = classes.find(({ number }) => number === of);
  const root = found?.steps[0];
  return found && root ? `in ${names[root[1]] ?? ""} of ${plural(found.steps.length + found.left, "step")}` : "";
}

function Figures({ summary, axis, css }: { summary: Summary; axis: Scale | null; css: string }) {
  const { times } = summary;
  const figures: [string, number | undefined][] = [
    ["mean", times?.mean], ["sd", times?.deviation], ["q1", times?.q1], ["median", times?.median], ["q3", times?.q3],
  ];
  return (
    <>
      <td class="number" data-label="calls">{count(summary.count)}</td>
      {figures.map(([label, time]) => <td key={label} class="number" data-label={label}>{duration(time)}</td>)}
      <td class="shape">{axis && times && <Shape summary={summary} axis={axis} css={css} />}</td>
    </>
  );
}

/** The distribution of a context: bars if there are enough response times, and its quartiles. */
function Shape({ summary: { times, timed }, axis, css }: { summary: Summary; axis: Scale; css: string }) {
  if (!times) return null;
  const at = (time: number) => axis.place(time) * axis.bins;
  const median = at(times.median);
  return (
    <svg viewBox={`0 0 ${axis.bins} 1`} preserveAspectRatio="none" role="img" aria-label={`${count(timed)} times from ${duration(times.min)} to ${duration(times.max)}`}>
      <path class={`layer ${css}`} d={outline(times.histogram, [], Math.max(...times.histogram) * 1.3)} transform="translate(0 -0.2)" />
      <line class="range" x1={at(times.min)} x2={at(times.max)} y1="0.9" y2="0.9" />
      <line class="quarters" x1={at(times.q1)} x2={at(times.q3)} y1="0.9" y2="0.9" />
      <line class="middle" x1={median} x2={median} y1="0.8" y2="1" />
    </svg>
  );
}
