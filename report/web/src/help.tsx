// The list of keyboard actions.

import { useEffect, useRef } from "preact/hooks";
import { help } from "./keys";

/** The keys of a page, each with its action. */
export function Help({ keys }: { keys: [string, string][] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isShown = help.value;
  useEffect(() => {
    if (isShown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isShown]);
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={() => (help.value = false)}>
      <h2>Keys</h2>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>{key.split(" ").filter(Boolean).map((one) => <kbd key={one}>{one}</kbd>)}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => (help.value = false)}>close</button>
    </dialog>
  );
}
