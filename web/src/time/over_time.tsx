// Throughput and latency while the trace lasted: of all paths, and of the pattern that is shown.

import { useEffect, useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import { axis, Chart, type Colors } from "../chart";
import type { Source } from "../data/source";
import type { Details, Overview } from "../data/types";
import { apart, duration, expected, rate, tick } from "../format";
import { logTicks, step } from "../pattern/ticks";
import { route } from "../patterns/rank";
import { enough, few, FEW, middles, ofPattern, WANTED } from "./series";

type Options = (colors: Colors) => Omit<uPlot.Options, "width" | "height">;

interface Props {
  source: Source;
  overview: Overview;
  /** The rank of the pattern that is shown. */
  rank: number | null;
}

export function OverTime({ source, overview, rank }: Props) {
  const { series } = overview;
  const times = useMemo(() => series.expected.map((_, slice) => (slice * series.step) / 1e9), [series]);
  const throughput = useMemo(
    (): uPlot.AlignedData => [times, series.expected.map((expected) => (expected / series.step) * 1e9)],
    [times, series],
  );
  const latency = useMemo((): uPlot.AlignedData => {
    const { mean, expected, p50, p99 } = series;
    return [middles(times), enough(mean, expected), p50, p99, few(mean, expected)];
  }, [times, series]);
  const [details, setDetails] = useState<Details | null>(null);
  useEffect(() => {
    let isWanted = rank !== null;
    if (rank !== null) {
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
    () => (rank !== null && details && details.id === overview.patterns.id[rank] ? ofPattern(details.series, overview.span) : null),
    [details, rank, overview],
  );
  return (
    <section class="time" aria-label="Over time">
      <p class="lead">Paths by when they began; each counts as often as it is expected to be real.</p>
      <figure class="card">
        <figcaption><b>Throughput</b> <span class="soft">expected paths a second, in slices of {duration(series.step)}</span></figcaption>
        <Chart label="Throughput of all paths over time" height={180} data={throughput} options={throughputOptions} />
      </figure>
      <figure class="card">
        <figcaption><b>Latency</b> <span class="soft">how long paths take</span></figcaption>
        <Chart label="Latency of all paths over time" height={230} data={latency} options={latencyOptions} />
        <Legend isAll isFew={latency[4]?.some((mean) => mean !== null) ?? false} />
      </figure>
      {rank !== null && one && (
        <figure class="card">
          <figcaption>
            <b>#{overview.patterns.id[rank]} {route(overview, rank)}</b> <span class="soft">alone, in slices of {duration(one.step)}</span>
          </figcaption>
          {(overview.patterns.expected[rank] ?? 0) < WANTED ? (
            <p class="fine">{expected(overview.patterns.expected[rank] ?? 0)} expected paths are too few to say how they fare over time.</p>
          ) : (
            <>
              <Chart label="Throughput of the pattern over time" height={150} data={one.throughput} options={throughputOptions} />
              <Chart label="Mean duration of the pattern over time" height={170} data={one.latency} options={meanOptions} />
              <Legend isFew={one.latency[2]?.some((mean) => mean !== null) ?? false} />
            </>
          )}
        </figure>
      )}
    </section>
  );
}

function Legend({ isAll = false, isFew }: { isAll?: boolean; isFew: boolean }) {
  return (
    <ul class="legend" aria-label="Legend">
      <li><span class="key mean" /> mean</li>
      {isAll && <li><span class="key p50" /> median</li>}
      {isAll && <li><span class="key p99" /> p99 of at least 20 paths</li>}
      {isFew && <li><span class="key few" /> mean of fewer than {FEW} paths</li>}
    </ul>
  );
}

const since = (colors: Colors) =>
  axis(colors, { values: (_: uPlot, splits: number[]) => splits.map((at) => tick(at * 1e9)), space: 64, size: 34 });
const at = { label: "after", value: (_: uPlot, time: number) => duration(time * 1e9) };
const shared = { cursor: { drag: { x: true, y: false }, sync: { key: "time" } } };
// A slice goes up to the next one.
const x: uPlot.Scale = {
  time: false,
  range: (self, from, to) => {
    const slice = (self.data[0][1] ?? 0) - (self.data[0][0] ?? 0);
    const begin = self.data[0][0] === 0 ? 0 : slice / 2;
    return [from - begin, to + slice - begin];
  },
};

const throughputOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: { range: (_, __, most) => [0, (most || 1) * 1.08] } },
  axes: [since(colors), axis(colors, { values: (_, splits) => splits.map((value) => (value === 0 ? "0" : rate(value))), size: 64 })],
  series: [
    at,
    {
      label: "paths",
      stroke: colors.accent,
      fill: colors.bar,
      width: 1,
      paths: uPlot.paths.bars?.({ size: [1, Infinity], align: 1 }),
      points: { show: false },
      value: (_, value) => rate(value),
    },
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
const dots = (stroke: string): uPlot.Series => ({
  label: "mean of few",
  stroke,
  paths: () => null,
  points: { show: true, size: 5 },
  value: (_, value) => duration(value),
});
// Below a microsecond is what clocks cannot tell.
const log: uPlot.Scale = { distr: 3, log: 10, range: (_, low, high) => [Math.max(low || 1, Math.min(1e3, high / 100)) / 1.3, (high || 10) * 1.3] };
const logAxis = (colors: Colors) =>
  axis(colors, {
    splits: (_, __, low, high) => logTicks(low, high),
    filter: (_, splits) => splits,
    values: (_, splits) => splits.map((at) => (at === null ? "" : apart(at, step(splits)))),
    size: 64,
  });
const delays = (colors: Colors) =>
  axis(colors, { values: (_: uPlot, splits: (number | null)[]) => splits.map((value) => (value === null ? "" : tick(value))), size: 64 });

const latencyOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: log },
  axes: [since(colors), logAxis(colors)],
  series: [at, line("mean", colors.ink), line("median", colors.accent), line("p99", colors.critical, [5, 3]), dots(colors.soft)],
});

const meanOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: { range: (_, __, most) => [0, (most || 1) * 1.08] } },
  axes: [since(colors), delays(colors)],
  series: [at, line("mean", colors.ink), dots(colors.soft)],
});
