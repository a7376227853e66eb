// The result: slower or faster and by how much, the parts of the change, and where it comes from.

import type { Comparison } from "../data/comparison";
import { duration, percent } from "../format";
import { type Measure, MEASURES, measure } from "./state";
import { Suspects } from "./suspects";
import { shape } from "./two";
import { TwoView } from "./two_view";
import { WaterfallView } from "./waterfall_view";
import { both, measured, signed, verdict } from "./words";

export function AnswerView({ comparison }: { comparison: Comparison }) {
  const { word, css } = verdict(comparison);
  const mean = measured(comparison, "mean");
  const shown: Measure = measure.value ?? "mean";
  const of = measured(comparison, shown);
  const before = mean?.values[0] ?? 0;
  return (
    <div class="answer">
      <h2 class={`verdict ${css}`}>
        {word}
        {css && mean && (
          <>
            {comparison.response.is_changed ? ` by ${duration(Math.abs(mean.parts.total_ns))}` : ` ${signed(mean.parts.total_ns)}`}
            <span class="soft"> on average{before > 0 && `, ${signedShare(mean.parts.total_ns / before)}`}</span>
          </>
        )}
      </h2>
      <div class="levels" id="measures" role="group" aria-label="Of the response times">
        {MEASURES.map((one) => <MeasureButton key={one} of={one} comparison={comparison} isShown={one === shown} />)}
      </div>
      <div class="halves">
        <Suspects comparison={comparison} />
        <div>
          {of && (
            <section>
              <h3>What the change of {shown === "mean" ? "the mean" : shown} is made of <span class="soft">{signed(of.parts.total_ns)}; the parts add up to it</span></h3>
              <WaterfallView key={shown} of={shown} measured={of} />
            </section>
          )}
          <section>
            <h3>Response times of all requests</h3>
            <TwoView
              of="response times of all requests"
              shapes={[shape(comparison.distribution, 0), shape(comparison.distribution, 1)]}
              {...(of ? { marked: of.values, mark: shown } : {})}
            />
          </section>
        </div>
      </div>
    </div>
  );
}

function MeasureButton({ of, comparison, isShown }: { of: Measure; comparison: Comparison; isShown: boolean }) {
  const found = measured(comparison, of);
  const change = found?.parts.total_ns ?? 0;
  return (
    <button type="button" aria-pressed={isShown} disabled={!found} onClick={() => (measure.value = of)}>
      <span class="what"><b>{of}</b> <span class="soft">{found ? both(found.values) : "unknown"}</span></span>
      {found && <span class="figures">{signed(change)} {found.values[0] > 0 && <span class="soft">({signedShare(change / found.values[0])})</span>}</span>}
    </button>
  );
}

function signedShare(share: number): string {
  return `${share > 0 ? "+" : share < 0 ? "−" : ""}${percent(Math.abs(share))}`;
}
