// The ranked patterns: only as many rows as fit are drawn, however many patterns there are.
// Patterns of the same hops are one row that opens.

import type { Overview, PatternColumns, SortKey } from "../data/types";
import { count, duration, expected, percent, plural } from "../format";
import { Rows } from "../rows";
import { choose, query, sort, toggle } from "../state";
import type { Listed } from "./chosen";
import type { Row } from "./families";
import { METRICS, route } from "./rank";

interface Props extends Listed {
  overview: Overview;
}

export function PatternList({ overview, rows, found, chosen }: Props) {
  const place = chosen === null ? -1 : rows.findIndex(({ rank }) => rank === chosen);
  const pick = (at: number) => {
    const next = rows[at];
    if (next) choose(overview.patterns.id[next.rank] ?? null);
  };
  const shown = rows[place];
  /** Opens and closes a family. */
  const press = (key: string) => {
    if (!shown || shown.alike === 0 || key !== (shown.isOpen ? "ArrowLeft" : "ArrowRight")) return false;
    toggle(overview.patterns.family[shown.rank] ?? -1);
    return true;
  };
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
                document.getElementById("patterns")?.focus();
                if (place < 0) pick(0);
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
      <Rows
        id="patterns"
        rowId="pattern"
        label="Path patterns by rank"
        count={rows.length}
        chosen={place}
        choose={pick}
        press={press}
        isMember={(at) => rows[at]?.isMember ?? false}
        row={(at) => {
          const row = rows[at];
          return row && <PatternRow overview={overview} row={row} />;
        }}
      />
      {rows.length === 0 && <p class="fine" role="status">{all === 0 ? "The analysis found no path pattern in this trace." : "No pattern has all of these words."}</p>}
      {hidden > 0 && <p class="fine">{count(hidden)} further patterns of lower rank are not part of this page.</p>}
    </section>
  );
}

interface RowProps {
  overview: Overview;
  row: Row;
}

function PatternRow({ overview, row }: RowProps) {
  const { patterns } = overview;
  const { rank, alike } = row;
  const key = sort.value ?? overview.sort;
  const share = overview.total_time > 0 ? row.values.total / overview.total_time : 0;
  return (
    <>
      <span class="rank">#{patterns.id[rank]}</span>
      <span class="path">
        <b>{route(overview, rank)}</b>
        <small>
          {alike > 0 && (
            // For the mouse; the list has the keys.
            <span
              class="alike"
              title="Patterns with the same hops in other numbers or orders: shows or hides them ( → ← )"
              onClick={(event) => {
                event.stopPropagation();
                toggle(patterns.family[rank] ?? -1);
              }}
            >
              {row.isOpen ? "▾" : "▸"} {count(alike)} alike ·{" "}
            </span>
          )}
          {count(row.values.count)}× · mean {duration(row.values.mean)} · p99 {duration(row.values.p99)}
          {errors(patterns, rank)}
        </small>
      </span>
      <span class="metric" style={{ "--share": `${share * 100}%` }}>{metric(key, row, share)}</span>
    </>
  );
}

/** The share of a pattern's requests that failed, if some did. */
function errors(patterns: PatternColumns, rank: number) {
  const share = patterns.errors?.[rank] ?? 0;
  return share > 0 && <span class="error"> · {percent(share)} failed</span>;
}

/** The ranking value of a pattern, as shown. */
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
