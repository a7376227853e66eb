// The frame of both pages, of a report and of a comparison: what is shown while it loads, the title
// with its buttons, and the tabs.

import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { help } from "./keys";
import { NEXT, theme } from "./theme";

/** Shows the value of `load` once it is there, and until then that it is loading or has failed. */
export function Loading<T>({ load, show }: { load: () => Promise<T>; show: (loaded: T) => ComponentChildren }) {
  const [loaded, setLoaded] = useState<T | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    load().then(setLoaded, (error: Error) => setFailed(error.message));
  }, []);
  if (failed) return <p class="error" role="alert">{failed}</p>;
  if (!loaded) return <p class="fine" role="status">Loading…</p>;
  return <>{show(loaded)}</>;
}

/** The title of the page, with the buttons for its colours and for the help. */
export function Title({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="title">
      <h1>{name}</h1>
      <p class="source">{children}</p>
      <span class="buttons">
        <button type="button" class="quiet" onClick={() => (theme.value = NEXT[theme.value])} aria-label={`Colours: ${theme.value}`}>
          {theme.value === "dark" ? "☾" : theme.value === "light" ? "☀" : "◐"}
        </button>
        <button type="button" class="quiet" aria-label="Keys" onClick={() => (help.value = true)}>?</button>
      </span>
    </div>
  );
}

interface TabsProps<Name extends string> {
  names: readonly Name[];
  selected: Signal<Name>;
  labels: Record<Name, string>;
  /** What follows the label of a tab. */
  badge: (name: Name) => ComponentChildren;
}

/** The tabs of the page. The arrow keys select the next or the previous one. */
export function Tabs<Name extends string>({ names, selected, labels, badge }: TabsProps<Name>) {
  // If there is no room for all tabs, the selected one is scrolled into view.
  useEffect(() => document.getElementById(`tab-${selected.value}`)?.scrollIntoView({ block: "nearest", inline: "nearest" }), [selected.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const next = names[(names.indexOf(selected.value) + by + names.length) % names.length];
    if (!next) return;
    selected.value = next;
    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
      {names.map((name) => (
        <button
          key={name}
          id={`tab-${name}`}
          type="button"
          role="tab"
          aria-selected={selected.value === name}
          aria-controls="panel"
          tabIndex={selected.value === name ? 0 : -1}
          onClick={() => (selected.value = name)}
        >
          {labels[name]}
          {badge(name)}
        </button>
      ))}
    </div>
  );
}

/** The panel of the selected tab. */
export function Panel({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <main>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${name}`} data-tab={name}>{children}</div>
    </main>
  );
}
