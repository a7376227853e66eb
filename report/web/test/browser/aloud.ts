// Accessibility problems that axe finds in a page: elements without a name for screen readers, too
// little contrast, and everything else that it has rules for.

import type { AxeResults } from "axe-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

type Axe = { run: (options: object) => Promise<AxeResults> };

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The rules that a page breaks, each with the first elements that do. */
export async function broken(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  // All rules are checked; elements are listed for broken rules only, which takes a third of the
  // time.
  const found = await page.evaluate(() => (window as unknown as { axe: Axe }).axe.run({ resultTypes: ["violations"] }));
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}
