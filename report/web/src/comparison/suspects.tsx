// Where a change comes from: the suspects, the first one with all evidence against it.

import { batch, useSignal } from "@preact/signals";
import type { Comparison, Suspect } from "../data/comparison";
import { breakable, count, percent, plural } from "../format";
import { choose, node, query, tab } from "./state";
import { MARK } from "./words";

/**
 * Initial numbers of sentences of the first suspect, of sentences of each other one, and of other
 * suspects.
 */
const [FIRST, OTHER, SUSPECTS] = [4, 1, 4];

export function Suspects({ comparison }: { comparison: Comparison }) {
  const { suspects, faster, changed } = comparison;
  if (!changed) return null;
  // A statement that is neither better nor worse is shown once.
  const said = new Set(suspects.flatMap(({ evidence }) => evidence.map(({ sentence }) => sentence)));
  const others = faster
    .map((one) => ({ ...one, evidence: one.evidence.filter(({ sentence }) => !said.has(sentence)) }))
    .filter(({ evidence }) => evidence.length > 0);
  return (
    <div class="suspects">
      {suspects.length > 0 ? (
        <List title={suspects.length === 1 ? "The suspect" : "Suspects, the first one first"} suspects={suspects} css="worse" />
      ) : (
        <p class="fine">No node became slower, failed more often or called others more or less often.</p>
      )}
      {others.length > 0 && <List title="What became faster" suspects={others} css="better" />}
    </div>
  );
}

function List({ title, suspects, css }: { title: string; suspects: Suspect[]; css: "worse" | "better" }) {
  const isWhole = useSignal(false);
  const [first, ...others] = suspects;
  const isFirst = css === "worse";
  const more = others.length - SUSPECTS;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ol class="card suspect-list">
        {first && <One suspect={first} css={css} sentences={isFirst ? FIRST : OTHER} isFirst={isFirst} />}
        {(isWhole.value ? others : others.slice(0, SUSPECTS)).map((suspect) => (
          <One key={suspect.node} suspect={suspect} css={css} sentences={OTHER} isFirst={false} />
        ))}
      </ol>
      {more > 0 && (
        <button type="button" class="quiet" onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? "fewer" : `${count(more)} more`}
        </button>
      )}
    </section>
  );
}

function One({ suspect, css, sentences, isFirst }: { suspect: Suspect; css: "worse" | "better"; sentences: number; isFirst: boolean }) {
  const isOpen = useSignal(false);
  const { evidence, share } = suspect;
  const shown = isOpen.value ? evidence : evidence.slice(0, sentences);
  const more = evidence.length - sentences;
  // All evidence may be due to chance.
  const isSure = evidence.some(({ is_sure }) => is_sure);
  return (
    <li class={`${isFirst ? "first" : ""} ${isSure ? css : "unsure"}`}>
      <div class="who">
        <b><span aria-hidden="true" class="glyph">{isSure ? MARK[css] : "?"}&nbsp;</span>{suspect.node || "?"}</b>
        <span class="soft">{percent(share)} of the evidence</span>
        <span class="bar" aria-hidden="true"><span style={{ width: `${share * 100}%` }} /></span>
      </div>
      <ul class="evidence">
        {shown.map(({ sentence, is_sure }) => <li key={sentence} class={is_sure ? "" : "soft"}>{breakable(sentence)}</li>)}
      </ul>
      <p class="links">
        {more > 0 && (
          <button type="button" class="quiet" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
            {isOpen.value ? "less" : `${plural(more, "more sentence")}`}
          </button>
        )}
        <button type="button" class="quiet" onClick={() => show("map", suspect.node)}>on the map</button>
        <button type="button" class="quiet" onClick={() => show("mutations", suspect.node)}>mutations through it</button>
      </p>
    </li>
  );
}

function show(view: "map" | "mutations", name: string): void {
  batch(() => {
    if (view === "map") node.value = name;
    else {
      query.value = name;
      choose(null);
    }
    tab.value = view;
  });
}
