// The page of a comparison: the periods, the tabs, and the view of the selected one.

import { useEffect, useState } from "preact/hooks";
import type { Comparison, ComparisonSource } from "../data/comparison";
import { Facts } from "../facts";
import { count, duration } from "../format";
import { Help } from "../help";
import { help } from "../keys";
import { NEXT, theme } from "../theme";
import { AnswerView } from "./answer";
import { KEYS } from "./keys";
import { ComparedMap } from "./map";
import { Mutations } from "./mutations";
import { tab, TABS, type Tab } from "./state";

const LABELS: Record<Tab, string> = { answer: "What changed", mutations: "Mutations", map: "Map" };

interface Props {
  source: ComparisonSource;
}

export function ComparisonApp({ source }: Props) {
  const [comparison, setComparison] = useState<Comparison | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    source.comparison().then(setComparison, (error: Error) => setFailed(error.message));
  }, [source]);
  if (failed) return <p class="error" role="alert">{failed}</p>;
  if (!comparison) return <p class="fine" role="status">Loading…</p>;
  return (
    <>
      <Header comparison={comparison} />
      <main>
        <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab.value}`} data-tab={tab.value}>
          {tab.value === "answer" && <AnswerView comparison={comparison} />}
          {tab.value === "mutations" && <Mutations source={source} comparison={comparison} />}
          {tab.value === "map" && <ComparedMap comparison={comparison} />}
        </div>
      </main>
      <Help keys={KEYS} />
    </>
  );
}

function Header({ comparison }: { comparison: Comparison }) {
  const { periods, categories, mutations } = comparison;
  const [before, after] = periods;
  const length = ({ first, last }: typeof before) => (first !== null && last !== null && last > first ? ` in ${duration(last - first)}` : "");
  const facts: [string, string][] = [
    [count(before.requests), `${before.requests === 1 ? "request" : "requests"} before${length(before)}`],
    [count(after.requests), `${after.requests === 1 ? "request" : "requests"} after${length(after)}`],
    [count(categories), categories === 1 ? "category" : "categories"],
    [count(mutations.length), mutations.length === 1 ? "mutation" : "mutations"],
  ];
  const torn = before.torn + after.torn;
  if (torn > 0) facts.push([count(torn), "without their beginning"]);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(tab.value) + by + TABS.length) % TABS.length];
    if (!next) return;
    tab.value = next;
    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
  };
  return (
    <header class="page">
      <div class="title">
        <h1>sockcap diff</h1>
        <p class="source">{before.name} → {after.name}</p>
        <span class="buttons">
          <button type="button" class="quiet" onClick={() => (theme.value = NEXT[theme.value])} aria-label={`Colours: ${theme.value}`}>
            {theme.value === "dark" ? "☾" : theme.value === "light" ? "☀" : "◐"}
          </button>
          <button type="button" class="quiet" aria-label="Keys" onClick={() => (help.value = true)}>?</button>
        </span>
      </div>
      {comparison.doubts.map((doubt) => <p key={doubt} class="part" role="note">{doubt}</p>)}
      <Facts facts={facts} />
      <div class="tabs" role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
        {TABS.map((name) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            aria-selected={tab.value === name}
            aria-controls="panel"
            tabIndex={tab.value === name ? 0 : -1}
            onClick={() => (tab.value = name)}
          >
            {LABELS[name]}
            {name === "mutations" && mutations.length > 0 && <span class="count plain">{count(mutations.length)}</span>}
          </button>
        ))}
      </div>
    </header>
  );
}
