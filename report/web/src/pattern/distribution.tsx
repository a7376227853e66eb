// The distribution of a delay: a histogram and its cumulative share, on a log axis.

import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import { axis, Chart, type Colors } from "../chart";
import type { Delay } from "../data/types";
import { apart, duration, expected } from "../format";
import { distribution, type Distribution } from "./histogram";
import { logTicks, step } from "./ticks";

interface Props {
  /** The subject of the distribution. */
  title: string;
  delay: Delay;
}

export function DistributionView({ title, delay }: Props) {
  const found = useMemo(() => distribution(delay.histogram), [delay]);
  const [data, options] = useMemo(() => (found ? drawing(found, delay) : [null, null]), [found, delay]);
  if (!found || !data || !options) return <p class="fine">Nothing was measured here.</p>;
  const facts = `${expected(found.weight)} expected, mean ${duration(delay.mean)}, median ${duration(delay.p50)}, p99 ${duration(delay.p99)}`;
  return (
    <figure class="distribution">
      <figcaption>
        <b>{title}</b> <span class="soft">{facts}</span>
      </figcaption>
      <Chart label={`Distribution of ${title}: ${facts}`} height={210} data={data} options={options} />
      <ul class="legend">
        <li><span class="key bars" /> share of a bar (left)</li>
        <li><span class="key cumulative" /> share up to there (right)</li>
        <li><span class="key median" /> median and p99</li>
      </ul>
    </figure>
  );
}

function drawing(found: Distribution, delay: Delay): [uPlot.AlignedData, (colors: Colors) => Omit<uPlot.Options, "width" | "height">] {
  const { edges, share, cumulative } = found;
  // Both are steps: a value holds from its edge up to the next.
  const data: uPlot.AlignedData = [edges, [...share, 0], [0, ...cumulative]];
  // A margin around the bars, at least as wide as two of them.
  const [first, last] = [edges[0] ?? 1, edges[edges.length - 1] ?? 1];
  const margin = Math.max((last / first) ** 0.06, ((edges[1] ?? last) / first) ** 2);
  const [low, high] = [first / margin, last * margin];
  const most = Math.max(...share);
  const ticks = logTicks(low, high);
  const options = (colors: Colors): Omit<uPlot.Options, "width" | "height"> => ({
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { time: false, distr: 3, log: 10, range: [low, high] },
      share: { range: [0, most * 1.08] },
      cumulative: { range: [0, 1.02] },
    },
    axes: [
      axis(colors, {
        values: (_, splits) => splits.map((at) => (at === null ? "" : apart(at, step(ticks)))),
        splits: () => ticks,
        size: 34,
        filter: (_, splits) => splits,
      }),
      axis(colors, { scale: "share", values: (_, splits) => splits.map((at) => `${+(at * 100).toFixed(1)}%`), size: 48 }),
      axis(colors, { scale: "cumulative", side: 1, grid: { show: false }, values: (_, splits) => splits.map((at) => `${Math.round(at * 100)}%`), size: 46 }),
    ],
    series: [
      { label: "from", value: (_, at) => duration(at) },
      {
        label: "share",
        scale: "share",
        stroke: colors.accent,
        fill: colors.bar,
        width: 1,
        paths: uPlot.paths.stepped?.({ align: 1 }),
        points: { show: false },
        value: (_, value) => (value === null ? "–" : `${(value * 100).toFixed(1)}%`),
      },
      {
        label: "below",
        scale: "cumulative",
        stroke: colors.ink,
        width: 1.5,
        points: { show: false },
        value: (_, value) => (value === null ? "–" : `${(value * 100).toFixed(1)}%`),
      },
    ],
    hooks: { draw: [(chart) => marks(chart, [delay.p50, delay.p99], colors.critical)] },
  });
  return [data, options];
}

/** Lines at some times. */
function marks(chart: uPlot, times: number[], color: string): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.setLineDash([4, 3]);
  for (const time of times.filter((time) => time > 0)) {
    const x = Math.round(chart.valToPos(time, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}
