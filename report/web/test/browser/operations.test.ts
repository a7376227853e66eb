// Operations and their failures, as a reader sees them: from a real recording of a server with
// failing orders.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Overview } from "../../src/data/types";
import { broken } from "./aloud";
import { browser, open, shoot } from "./browser";
import { emptyBoxes, tooWide } from "./measure";
import { read } from "./pieces";

let chromium: Browser;
beforeAll(async () => {
  chromium = await browser();
});
afterAll(() => chromium?.close());

const opened = (hash: string, more: Parameters<typeof open>[2] = {}) => open(chromium, `${inject("asked")}#${hash}`, { offline: true, ...more });

test("calls, errors and their share are shown by operation", async () => {
  const { page, complaints } = await opened("time");
  await page.locator(".operations tbody tr").first().waitFor();
  const rows = await page.locator(".operations tbody tr").evaluateAll((all) =>
    all.map((row) => [...row.querySelectorAll("th, td.number")].map((cell) => (cell.textContent ?? "").replaceAll("\u200b", "").trim())),
  );
  expect(rows).toEqual([
    ["→ shopd GET /order/{}", "50.0", "50.0", "100.0%"],
    ["→ shopd GET /cart/{}", "250.0", "0.0", "0.0%"],
  ]);
  await shoot(page, "operations", true);
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("the course of errors is shown for all requests, or for the selected operation", async () => {
  const { page, complaints } = await opened("time");
  await page.locator(".errors-over-time canvas").nth(1).waitFor();
  const title = () => page.locator(".errors-over-time figcaption b").innerText();
  expect(await title()).toBe("All requests");
  // Errors begin after two thirds of the requests: only from there on do the rows show any.
  const { operations } = read<Overview>(readFileSync(fileURLToPath(inject("asked")), "utf8"), "overview");
  const failing = operations?.errors.findIndex((errors) => errors > 0) ?? -1;
  const slices = (operations?.series[failing] ?? []).filter((_, at) => at % 4 === 0);
  expect(Math.min(...slices)).toBeGreaterThan(20);
  const sparks = await page.locator(".operations .spark .failed").evaluateAll((all) => all.map((path) => path.getAttribute("d") ?? ""));
  expect(sparks.map((path) => path.length > 0)).toEqual([true, false]);
  await page.locator(`[data-asked="${failing}"]`).click();
  await page.waitForURL(new RegExp(`asked=${failing}`));
  await page.locator(".errors-over-time figcaption b").filter({ hasText: "/order/{}" }).waitFor();
  await shoot(page, "operation", true);
  await page.locator(`[data-asked="${failing}"]`).click();
  expect(await title()).toBe("All requests");
  expect(complaints).toEqual([]);
  await page.context().close();
});

test.each([[1440, false], [390, true]] as const)("it reads at %i pixels, dark: %s, and can be read aloud", async (width, dark) => {
  const { page, complaints } = await opened("time", { width, height: 844, dark });
  await page.locator(".operations tbody tr").first().waitFor();
  expect(await page.evaluate(tooWide)).toEqual([]);
  expect(await page.evaluate(emptyBoxes)).toEqual([]);
  await shoot(page, `operations-${width}`, true);
  expect(await broken(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("a page without names says nothing of operations", async () => {
  const { page } = await open(chromium, `${inject("small")}#time`, { offline: true });
  await page.locator(".time canvas").first().waitFor();
  expect(await page.locator(".operations, .errors-over-time").count()).toBe(0);
  await page.context().close();
});
