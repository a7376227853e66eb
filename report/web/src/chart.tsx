// A uPlot chart with the width of its place and the page's colours.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "./theme";

interface Props {
  /** A description for screen readers. */
  label: string;
  height: number;
  data: uPlot.AlignedData;
  /** All options except the size; recreated when the colours change. */
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
    // Changes of the chart's own size do not change the size of its place.
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
