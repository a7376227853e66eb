// Light or dark: the system's setting, unless the reader chooses.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

export const theme = signal<Theme>("system");

/** The next theme of the page's button. */
export const NEXT: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };

/** Keeps the choice for the next page, if the browser permits it. */
export function followTheme(): void {
  try {
    const kept = localStorage.getItem("sockcap-theme");
    if (kept === "light" || kept === "dark") theme.value = kept;
  } catch {
    // Pages from disk may not store anything.
  }
  // Both run before anything is drawn, so that code that reads the colours gets the right ones.
  effect(() => {
    const chosen = theme.value;
    if (chosen === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    try {
      if (chosen === "system") localStorage.removeItem("sockcap-theme");
      else localStorage.setItem("sockcap-theme", chosen);
    } catch {
      // Pages from disk may not store anything.
    }
  });
}
