// A uPlot chart that is as wide as its place and has the page's colours.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "./theme";

interface Props {
  /** What it shows, for who cannot see it. */
  label: string;
  height: number;
  data: uPlot.AlignedData;
  /** Everything but the size; made anew when the colours change. */
  options: (colors: Colors) => Omit<uPlot.Options, "width" | "height">;
}

export interface Colors {
  ink: string;
  soft: string;
  line: string;
  accent: string;
  critical: string;
  bar: string;
}

export function colors(): Colors {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: of("ink"), soft: of("soft"), line: of("hair"), accent: of("accent"), critical: of("critical"), bar: of("bar"),
  };
}

/** An axis in the page's colours. */
export function axis(of: Colors, more: uPlot.Axis): uPlot.Axis {
  const font = "11px system-ui, sans-serif";
  return { stroke: of.soft, grid: { stroke: of.line, width: 1 }, ticks: { stroke: of.line, width: 1 }, font, ...more };
}

export function Chart({ label, height, data, options }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const size = () => ({ width: Math.max(200, element.clientWidth), height });
    const chart = new uPlot({ ...options(colors()), ...size() }, data, element);
    // Under the chart's own changes of size there is none of its place.
    const observer = new ResizeObserver(() => {
      if (element.clientWidth !== chart.width) chart.setSize(size());
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [data, options, height, theme.value]);
  return <div class="chart" ref={place} role="img" aria-label={label} />;
}
