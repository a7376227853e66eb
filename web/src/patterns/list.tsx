// The ranked patterns: as many rows as fit are there, however many patterns there are. Those of the
// same hops are one row that opens.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Overview, SortKey } from "../data/types";
import { count, duration, expected, percent, plural } from "../format";
import { choose, query, sort, toggle } from "../state";
import type { Listed } from "./chosen";
import type { Row } from "./families";
import { METRICS, route } from "./rank";

/** The height of a row in pixels, as the style sheet has it. */
const ROW = 74;
/** Rows beyond the edges, so that none is missing while the list moves. */
const BEYOND = 6;

interface Props extends Listed {
  overview: Overview;
}

export function PatternList({ overview, rows, found, chosen }: Props) {
  const top = useSignal(0);
  const height = useSignal(800);
  const scroller = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => (height.value = element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const place = chosen === null ? -1 : rows.findIndex(({ rank }) => rank === chosen);
  // Whatever is chosen is seen.
  useEffect(() => {
    const element = scroller.current;
    if (!element || place < 0) return;
    if (place * ROW < element.scrollTop) element.scrollTop = place * ROW;
    else if ((place + 1) * ROW > element.scrollTop + element.clientHeight) {
      element.scrollTop = (place + 1) * ROW - element.clientHeight;
    }
  }, [place, rows]);

  const move = (by: number) => {
    const next = rows[Math.min(Math.max(place + by, 0), rows.length - 1)];
    if (next) choose(overview.patterns.id[next.rank] ?? null);
  };
  const shown = rows[place];
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height.value / ROW) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity,
    };
    if (shown && shown.alike > 0 && event.key === (shown.isOpen ? "ArrowLeft" : "ArrowRight")) {
      event.preventDefault();
      toggle(overview.patterns.family[shown.rank] ?? -1);
      return;
    }
    const by = steps[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(place < 0 && by > 0 && Number.isFinite(by) ? 1 : by);
  };

  const first = Math.max(0, Math.floor(top.value / ROW) - BEYOND);
  const visible = rows.slice(first, Math.ceil((top.value + height.value) / ROW) + BEYOND);
  const all = overview.patterns.id.length;
  const hidden = overview.pattern_count - all;
  return (
    <section class="list" aria-label="Patterns">
      <div class="tools">
        <label class="search">
          <span class="visually-hidden">Search patterns</span>
          <input
            id="search"
            type="search"
            placeholder="Search ( / )"
            value={query.value}
            onInput={(event) => (query.value = event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "ArrowDown" || event.key === "Enter") {
                event.preventDefault();
                scroller.current?.focus();
                if (place < 0) move(1);
              }
            }}
          />
        </label>
        <label>
          rank by
          <select id="sort" value={sort.value ?? overview.sort} onChange={(event) => (sort.value = event.currentTarget.value as SortKey)}>
            {Object.entries(METRICS).map(([key, { label }]) => <option key={key} value={key}>{label}</option>)}
          </select>
        </label>
        <output id="found">
          {found === all ? plural(all, "pattern") : `${count(found)} of ${plural(all, "pattern")}`}
          {rows.length < found && <span class="soft"> in {plural(rows.length, "row")}</span>}
        </output>
      </div>
      <div
        id="patterns"
        class="rows"
        role="listbox"
        aria-label="Path patterns by rank"
        tabIndex={0}
        aria-activedescendant={place >= first && place < first + visible.length ? `pattern-${place}` : undefined}
        ref={scroller}
        style={{ "--rows": `${Math.max(1, rows.length) * ROW + 2}px` }}
        onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
        onKeyDown={onKeyDown}
      >
        <div role="presentation" class="space" style={{ height: `${rows.length * ROW}px` }}>
          {visible.map((row, index) => (
            <PatternRow key={row.rank} overview={overview} row={row} place={first + index} all={rows.length} isChosen={row.rank === chosen} />
          ))}
        </div>
      </div>
      {rows.length === 0 && <p class="fine" role="status">{all === 0 ? "The analysis found no path pattern in this trace." : "No pattern has all of these words."}</p>}
      {hidden > 0 && <p class="fine">{count(hidden)} further patterns of lower rank are not part of this page.</p>}
    </section>
  );
}

interface RowProps {
  overview: Overview;
  row: Row;
  place: number;
  all: number;
  isChosen: boolean;
}

function PatternRow({ overview, row, place, all, isChosen }: RowProps) {
  const { patterns } = overview;
  const { rank, alike } = row;
  const key = sort.value ?? overview.sort;
  const share = overview.total_time > 0 ? row.values.total / overview.total_time : 0;
  return (
    <div
      id={`pattern-${place}`}
      class={row.isMember ? "row member" : "row"}
      role="option"
      aria-selected={isChosen}
      aria-posinset={place + 1}
      aria-setsize={all}
      style={{ transform: `translateY(${place * ROW}px)` }}
      onClick={() => choose(patterns.id[rank] ?? null)}
    >
      <span class="rank">#{patterns.id[rank]}</span>
      <span class="path">
        <b>{route(overview, rank)}</b>
        <small>
          {alike > 0 && (
            // For the mouse; the keys are those of the list.
            <span
              class="alike"
              title="Patterns of the same hops in other numbers or orders: shows or hides them ( → ← )"
              onClick={(event) => {
                event.stopPropagation();
                toggle(patterns.family[rank] ?? -1);
              }}
            >
              {row.isOpen ? "▾" : "▸"} {count(alike)} alike ·{" "}
            </span>
          )}
          {count(row.values.count)}× · mean {duration(row.values.mean)} · p99 {duration(row.values.p99)}
        </small>
      </span>
      <span class="metric" style={{ "--share": `${share * 100}%` }}>{metric(key, row, share)}</span>
    </div>
  );
}

/** What a pattern is ranked by, as it is shown. */
function metric(key: SortKey, row: Row, share: number): string {
  const value = METRICS[key].of(row.values);
  switch (key) {
    case "total":
      return percent(share);
    case "count":
      return count(value);
    case "expected":
    case "evidence":
      return expected(value);
    case "confidence":
      return percent(value);
    default:
      return duration(value);
  }
}
