// A page with ten thousand patterns, from disk.

import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { browser, open, shoot } from "./browser";

let chromium: Browser;
beforeAll(async () => {
  chromium = await browser();
});
afterAll(() => chromium?.close());

test("ten thousand patterns are there, and no more rows than can be seen", async () => {
  const { page, complaints } = await open(chromium, inject("many"), { offline: true });
  await page.locator("#pattern-0").waitFor();
  const found = await page.locator("#found").innerText();
  expect(found).toBe("10,000 patterns");
  const rows = () => page.locator("#patterns [role=option]").count();
  expect(await rows()).toBeLessThan(60);
  // To the last and back.
  await page.focus("#patterns");
  await page.keyboard.press("End");
  await page.locator("#pattern-9999[aria-selected=true]").waitFor();
  expect(await rows()).toBeLessThan(60);
  await page.locator("svg.timeline").waitFor();
  expect(await page.locator(".hops tbody tr").count()).toBe(6);
  await page.fill("#search", "front-3 back-60");
  await page.locator("#found").filter({ hasText: / of 10,000/ }).waitFor();
  for (const key of ["count", "p99", "total"]) await page.selectOption("#sort", key);
  await page.fill("#search", "");
  await page.click("#tab-map");
  await page.locator("svg.system g.place").first().waitFor();
  await page.click("#tab-time");
  await page.locator(".time canvas").first().waitFor();
  await shoot(page, "many");
  expect(complaints).toEqual([]);
  expect(statSync(fileURLToPath(inject("many"))).size).toBeLessThan(12e6);
  await page.context().close();
});
