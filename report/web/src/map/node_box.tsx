// A node of the map: its name, and its time at work.

import { fitted } from "../format";
import { CHARACTER, type PlacedNode } from "./layout";

interface Props {
  box: PlacedNode;
  name: string;
  time: string;
  /** Its full description, in words. */
  said: string;
  css: string;
  isTraced: boolean;
  isSmall: boolean;
  isChosen: boolean;
  press: () => void;
  search: () => void;
}

export function NodeBox({ box, name, time, said, css, isTraced, isSmall, isChosen, press, search }: Props) {
  const { x, y, width, height } = box;
  const letters = Math.floor((width - 14 - (isSmall ? 52 : 0)) / CHARACTER);
  return (
    <g
      class={`place ${css} ${isChosen ? "chosen" : ""}`}
      role="button"
      tabindex={0}
      aria-pressed={isChosen}
      aria-label={said}
      onClick={press}
      onDblClick={search}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          press();
        }
      }}
    >
      <title>{said}</title>
      <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={isTraced ? 6 : height / 2} />
      {isSmall ? (
        <text x={x} y={y + 4}>
          {fitted(name, letters)} <tspan class="time">{time === "–" ? "" : time}</tspan>
        </text>
      ) : (
        <text x={x} y={y - 3}>
          {fitted(name, letters)} <tspan x={x} dy="15" class="time">{time}</tspan>
        </text>
      )}
    </g>
  );
}
