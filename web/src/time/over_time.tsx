// Throughput and latency while the trace lasted: of all paths, and of the one pattern that is chosen.

import { useEffect, useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import { axis, Chart, type Colors } from "../chart";
import type { Source } from "../data/source";
import type { Details, Overview } from "../data/types";
import { duration, rate, tick } from "../format";
import { route } from "../patterns/rank";
import { choose, pattern } from "../state";
import { ofPattern } from "./series";

type Options = (colors: Colors) => Omit<uPlot.Options, "width" | "height">;

export function OverTime({ source, overview }: { source: Source; overview: Overview }) {
  const { series } = overview;
  const times = useMemo(() => series.expected.map((_, slice) => (slice * series.step) / 1e9), [series]);
  const throughput = useMemo(
    (): uPlot.AlignedData => [times, series.expected.map((expected) => (expected / series.step) * 1e9)],
    [times, series],
  );
  const latency = useMemo((): uPlot.AlignedData => [times, series.mean, series.p50, series.p99], [times, series]);
  const rank = pattern.value === null ? -1 : overview.patterns.id.indexOf(pattern.value);
  const [details, setDetails] = useState<Details | null>(null);
  useEffect(() => {
    let isWanted = rank >= 0;
    if (isWanted) {
      source.details(rank).then(
        (found) => isWanted && setDetails(found),
        () => isWanted && setDetails(null),
      );
    }
    return () => {
      isWanted = false;
    };
  }, [source, rank]);
  const one = useMemo(
    () => (rank >= 0 && details && details.id === overview.patterns.id[rank] ? ofPattern(details.series, overview.span) : null),
    [details, rank, overview],
  );
  return (
    <section class="time" aria-label="Over time">
      <p class="lead">
        Paths by when they began, in slices of {duration(series.step)}; each counts as often as it is expected to be real.
      </p>
      <figure class="card">
        <figcaption><b>Throughput</b> <span class="soft">expected paths a second</span></figcaption>
        <Chart label="Throughput of all paths over time" height={190} data={throughput} options={throughputOptions} />
      </figure>
      <figure class="card">
        <figcaption><b>Latency</b> <span class="soft">mean, median and p99 of a path's duration</span></figcaption>
        <Chart label="Latency of all paths over time" height={230} data={latency} options={latencyOptions} />
      </figure>
      {rank < 0 && <p class="fine">Choose a pattern to see it over time as well.</p>}
      {rank >= 0 && one && (
        <figure class="card">
          <figcaption>
            <b>{route(overview, rank)}</b>{" "}
            <button type="button" class="quiet" onClick={() => choose(null)}>close</button>
          </figcaption>
          <Chart label="Throughput of the pattern over time" height={150} data={one.throughput} options={throughputOptions} />
          <Chart label="Mean duration of the pattern over time" height={170} data={one.latency} options={meanOptions} />
        </figure>
      )}
    </section>
  );
}

const since = (colors: Colors) =>
  axis(colors, { values: (_: uPlot, splits: number[]) => splits.map((at) => tick(at * 1e9)) });
const at = { label: "after", value: (_: uPlot, time: number) => duration(time * 1e9) };
const shared = { cursor: { drag: { x: true, y: false }, sync: { key: "time" } } };
const x = { time: false };

const throughputOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: { range: (_, __, most) => [0, (most || 1) * 1.08] } },
  axes: [since(colors), axis(colors, { values: (_, splits) => splits.map((value) => rate(value)), size: 64 })],
  series: [
    at,
    { label: "paths", stroke: colors.accent, fill: colors.bar, width: 1.2, points: { show: false }, value: (_, value) => rate(value) },
  ],
});

const line = (label: string, stroke: string, dash?: number[]): uPlot.Series => ({
  label,
  stroke,
  width: 1.5,
  ...(dash ? { dash } : {}),
  points: { size: 4 },
  value: (_, value) => duration(value),
});
const delays = (colors: Colors) =>
  axis(colors, { values: (_: uPlot, splits: (number | null)[]) => splits.map((value) => (value === null ? "" : tick(value))), size: 64 });
const log = { distr: 3 as const, log: 10 as const };

const latencyOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: log },
  axes: [since(colors), delays(colors)],
  series: [at, line("mean", colors.ink), line("median", colors.accent), line("p99", colors.critical, [5, 3])],
});

const meanOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: { range: (_, __, most) => [0, (most || 1) * 1.08] } },
  axes: [since(colors), delays(colors)],
  series: [at, line("mean", colors.ink)],
});
