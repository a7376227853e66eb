// Throughput and latency during the trace: of all paths, and of the selected pattern.

import { useEffect, useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import { Chart } from "../chart";
import type { Source } from "../data/source";
import type { Details, Overview } from "../data/types";
import { duration, expected } from "../format";
import { route } from "../patterns/rank";
import { OperationsView } from "./operations_view";
import { latencyOptions, meanOptions, throughputOptions } from "./options";
import { enough, few, FEW, middles, ofPattern, WANTED } from "./series";

interface Props {
  source: Source;
  overview: Overview;
  /** The rank of the selected pattern. */
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
        <figcaption><b>Throughput</b> <span class="soft">expected paths per second, in slices of {duration(series.step)}</span></figcaption>
        <Chart label="Throughput of all paths over time" height={180} data={throughput} options={throughputOptions} />
      </figure>
      <figure class="card">
        <figcaption><b>Latency</b> <span class="soft">duration of paths</span></figcaption>
        <Chart label="Latency of all paths over time" height={230} data={latency} options={latencyOptions} />
        <Legend isAll isFew={latency[4]?.some((mean) => mean !== null) ?? false} />
      </figure>
      {overview.operations && <OperationsView overview={overview} operations={overview.operations} />}
      {rank !== null && one && (
        <figure class="card">
          <figcaption>
            <b>#{overview.patterns.id[rank]} {route(overview, rank)}</b> <span class="soft">alone, in slices of {duration(one.step)}</span>
          </figcaption>
          {(overview.patterns.expected[rank] ?? 0) < WANTED ? (
            <p class="fine">{expected(overview.patterns.expected[rank] ?? 0)} expected paths are too few for a course over time.</p>
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
