// A ranked list that draws only its visible rows, however many there are.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** The height of a row in pixels, as in the style sheet. */
export const ROW = 74;
/** Rows drawn beyond the edges, so that none is missing while the list moves. */
const BEYOND = 6;

interface Props {
  id: string;
  label: string;
  count: number;
  /** The selected row; -1: none. */
  chosen: number;
  choose: (place: number) => void;
  row: (place: number) => ComponentChildren;
  /** The prefix of the ids of rows, before their number. */
  rowId: string;
  /** Whether a row is indented below another one. */
  isMember?: (place: number) => boolean;
  /** Handles a key that does not move the selection; returns whether it did something. */
  press?: (key: string) => boolean;
}

export function Rows({ id, label, count, chosen, choose, row, rowId, isMember, press }: Props) {
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
  // The selected row is scrolled into view.
  useEffect(() => {
    const element = scroller.current;
    if (!element || chosen < 0) return;
    if (chosen * ROW < element.scrollTop) element.scrollTop = chosen * ROW;
    else if ((chosen + 1) * ROW > element.scrollTop + element.clientHeight) {
      element.scrollTop = (chosen + 1) * ROW - element.clientHeight;
    }
  }, [chosen, count]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (press?.(event.key)) return event.preventDefault();
    const page = Math.max(1, Math.floor(height.value / ROW) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity,
    };
    const by = steps[event.key];
    if (by === undefined || count === 0) return;
    event.preventDefault();
    choose(Math.min(Math.max(chosen + by, 0), count - 1));
  };
  const first = Math.max(0, Math.floor(top.value / ROW) - BEYOND);
  const last = Math.min(count, Math.ceil((top.value + height.value) / ROW) + BEYOND);
  return (
    <div
      id={id}
      class="rows drawn"
      role="listbox"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={chosen >= first && chosen < last ? `${rowId}-${chosen}` : undefined}
      ref={scroller}
      style={{ "--rows": `${Math.max(1, count) * ROW + 2}px` }}
      onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" class="space" style={{ height: `${count * ROW}px` }}>
        {Array.from({ length: Math.max(0, last - first) }, (_, at) => (
          <div
            key={first + at}
            id={`${rowId}-${first + at}`}
            class={isMember?.(first + at) ? "row member" : "row"}
            role="option"
            aria-selected={first + at === chosen}
            aria-posinset={first + at + 1}
            aria-setsize={count}
            style={{ transform: `translateY(${(first + at) * ROW}px)` }}
            onClick={() => choose(first + at)}
          >
            {row(first + at)}
          </div>
        ))}
      </div>
    </div>
  );
}
