// The page: what was traced, the tabs, and what the chosen one shows.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ClocksView } from "./clocks/clocks";
import { colorNodes } from "./colors";
import type { Source } from "./data/source";
import type { Overview } from "./data/types";
import { Facts } from "./facts";
import { count, duration, expected, plural } from "./format";
import { Help } from "./help";
import { help } from "./keys";
import { MapView } from "./map/map";
import { Detail } from "./pattern/detail";
import { PatternList } from "./patterns/list";
import { Shares } from "./patterns/shares";
import { choose, pattern, tab, TABS, type Tab } from "./state";
import { NEXT, theme } from "./theme";
import { OverTime } from "./time/over_time";

const LABELS: Record<Tab, string> = { patterns: "Patterns", map: "Map", time: "Over time", clocks: "Clocks and holes" };

export function App({ source }: { source: Source }) {
  const [overview, setOverview] = useState<Overview | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    source.overview().then(
      (found) => {
        colorNodes(found);
        setOverview(found);
      },
      (error: Error) => setFailed(error.message),
    );
  }, [source]);
  if (failed) return <p class="error" role="alert">{failed}</p>;
  if (!overview) return <p class="fine" role="status">Loading…</p>;
  return (
    <>
      <Header overview={overview} />
      <main>
        <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab.value}`} data-tab={tab.value}>
        {tab.value === "patterns" && <Patterns source={source} overview={overview} />}
        {tab.value === "map" && <MapView overview={overview} />}
        {tab.value === "time" && <OverTime source={source} overview={overview} />}
        {tab.value === "clocks" && <ClocksView overview={overview} />}
        </div>
      </main>
      <Help />
    </>
  );
}

function Header({ overview }: { overview: Overview }) {
  const facts: [string, string][] = [
    [count(overview.pattern_count), "patterns"],
    [count(overview.instances), "instances"],
    [expected(overview.expected_paths), "expected"],
    [count(overview.messages), "messages"],
    [count(overview.processes), "processes"],
    [count(overview.hosts), "hosts"],
    [duration(overview.span), "traced"],
  ];
  const holes = overview.notes.reduce((sum, note) => sum + note.count, 0);
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
        <h1>sockcap</h1>
        <p class="source">{overview.source}</p>
        <span class="buttons">
          <button type="button" class="quiet" onClick={() => (theme.value = NEXT[theme.value])} aria-label={`Colours: ${theme.value}`}>
            {theme.value === "dark" ? "☾" : theme.value === "light" ? "☀" : "◐"}
          </button>
          <button type="button" class="quiet" aria-label="Keys" onClick={() => (help.value = true)}>?</button>
        </span>
      </div>
      {overview.filtered.length > 0 && (
        <p class="part" role="note">
          Only a part of the trace: {overview.filtered.join("; ")}
        </p>
      )}
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
            {name === "clocks" && holes > 0 && (
              <span class="count" title={plural(holes, "thing") + " could not be seen"}>{count(holes)}</span>
            )}
          </button>
        ))}
      </div>
    </header>
  );
}

function Patterns({ source, overview }: { source: Source; overview: Overview }) {
  const rankOf = useMemo(() => new Map(overview.patterns.id.map((id, rank) => [id, rank])), [overview]);
  const rank = pattern.value === null ? undefined : rankOf.get(pattern.value);
  return (
    <div class={`panes ${rank === undefined ? "" : "chosen"}`}>
      <PatternList overview={overview} />
      <div class="pane">
        {pattern.value !== null && (
          <button type="button" class="quiet back" onClick={() => choose(null)}>← all patterns</button>
        )}
        {rank !== undefined && <Detail key={rank} source={source} overview={overview} rank={rank} />}
        {rank === undefined && pattern.value !== null && (
          <p class="error" role="alert">Pattern {pattern.value} is not part of this page.</p>
        )}
        {rank === undefined && pattern.value === null && <Shares overview={overview} />}
      </div>
    </div>
  );
}
