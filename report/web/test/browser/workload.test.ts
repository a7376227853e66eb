// Costs of requests as a reader sees them: of a real recording with requests that each spend their
// time in one way, and of one that has more of everything.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Workload } from "../../src/data/workload";
import { broken } from "./aloud";
import { browser, open, shoot } from "./browser";
import { badAxes, emptyBoxes, tooWide } from "./measure";
import { read } from "./pieces";

let chromium: Browser;
beforeAll(async () => {
  chromium = await browser();
});
afterAll(() => chromium?.close());

const costs = () => read<Workload>(readFileSync(fileURLToPath(inject("costs")), "utf8"), "workload");
const opened = (hash: string, more: Parameters<typeof open>[2] = {}) => open(chromium, `${inject("costs")}#${hash}`, { offline: true, ...more });

/** The widths of the parts of a bar, by their classes, as shares of the whole bar. */
async function shares(page: Page, bar: string): Promise<Record<string, number>> {
  return page.locator(bar).first().evaluate((element) => {
    const whole = element.getBoundingClientRect().width;
    return Object.fromEntries([...element.children].map((part) => [part.className, part.getBoundingClientRect().width / whole]));
  });
}

test("clusters stand side by side, on one scale", async () => {
  const { page, complaints } = await opened("requests");
  await page.locator(".clusters tbody tr").first().waitFor();
  const { clusters, requests } = costs();
  const rows = page.locator(".clusters tbody tr");
  expect(await rows.count()).toBe(clusters.length);
  const said = await rows.locator("th b").allInnerTexts();
  expect(said.map(Number)).toEqual(clusters.map((one) => one.requests));
  expect(said.map(Number).reduce((sum, one) => sum + one, 0)).toBe(requests);
  // Bars are as long as their times, and their parts as the times by resource.
  const sums = clusters.map(({ spent }) => spent.reduce((sum, one) => sum + one, 0));
  const lengths = await page.locator(".clusters .track > span").evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
  const longest = Math.max(...sums);
  lengths.forEach((length, place) => expect(length / Math.max(...lengths)).toBeCloseTo((sums[place] ?? 0) / longest, 1));
  const port = inject("ports").spin;
  const spin = clusters.findIndex(({ names }) => names.some(([name]) => name === `server:${port}`));
  const found = await shares(page, `.clusters tbody tr:nth-child(${spin + 1}) .split`);
  const [processor, runnable] = clusters[spin]?.spent ?? [];
  expect(found["w-processor"]).toBeCloseTo((processor ?? 0) / (sums[spin] ?? 1), 1);
  expect(found["w-runnable"] ?? 0).toBeCloseTo((runnable ?? 0) / (sums[spin] ?? 1), 1);
  expect(await page.locator(`.clusters tbody tr:nth-child(${spin + 1}) .w-processor`).getAttribute("title")).toMatch(/^processor \d.* ms \(\d.*%\)\. A thread/);
  // The legend has the occurring ways, in the colours of the bars.
  const legend = page.locator(".workload > section .legend.ways li");
  const named = (await legend.allInnerTexts()).map((text) => text.trim());
  expect(named).toContain("lock");
  expect(named).not.toContain("calls");
  const colours = (at: string) => page.locator(at).first().evaluate((element) => getComputedStyle(element).backgroundColor);
  expect(await colours(".legend .w-processor")).toBe(await colours(".split .w-processor"));
  await shoot(page, "requests");
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("a request has its steps, its threads and its processors", async () => {
  const { examples, clusters } = costs();
  const of = (kind: string) => examples.find(({ name }) => name === `server:${inject("ports")[kind]}`);
  const spin = of("spin");
  if (!spin) throw new Error("no request that spins stands for a cluster");
  const { page, complaints } = await opened(`requests?request=${spin.request}`);
  await page.locator(".split-steps li").first().waitFor();
  expect(await page.locator(".workload .detail h2").innerText()).toContain(spin.name);
  // Most of it is processor time, in the bar of its step and in the lane of its thread.
  const found = await shares(page, ".split-steps .split");
  expect((found["w-processor"] ?? 0) + (found["w-runnable"] ?? 0)).toBeGreaterThan(0.8);
  const lanes = page.locator("svg.threads g.lane");
  const processors = page.locator("svg.threads g.lane.processor");
  expect(await lanes.count()).toBe(spin.lanes.length + (await processors.count()));
  expect(await processors.count()).toBeGreaterThan(0);
  expect(await processors.first().locator(".name").innerHTML()).toMatch(/^processor \d+$/);
  // Slices are at the positions of their times.
  const [lane, place] = spin.lanes
    .flatMap(({ slices }, lane) => slices.map(([from, to], place) => [lane, place, to - from] as const))
    .toSorted((one, other) => other[2] - one[2])[0] ?? [0, 0];
  const slice = spin.lanes[lane]?.slices[place] ?? [0, 0, 0, 0];
  const box = await lanes.nth(lane).locator("rect").nth(place).boundingBox();
  const ground = await lanes.nth(lane).locator(".ground").boundingBox();
  expect(((box?.x ?? 0) - (ground?.x ?? 0)) / (ground?.width ?? 1)).toBeCloseTo(slice[0] / spin.time, 1);
  expect((box?.width ?? 0) / (ground?.width ?? 1)).toBeCloseTo((slice[1] - slice[0]) / spin.time, 1);
  await shoot(page, "request", true);

  // Another cluster by mouse and by keyboard, and back.
  const other = clusters.find(({ representative }) => representative !== spin.request && examples.some(({ request }) => request === representative));
  await page.click(`[data-cluster="${other?.representative}"]`);
  await page.waitForURL(new RegExp(`request=${other?.representative}`));
  await page.goBack();
  await page.waitForURL(new RegExp(`request=${spin.request}`));
  await page.keyboard.press("n");
  await page.keyboard.press("p");
  await page.waitForURL(new RegExp(`request=${spin.request}`));
  await page.keyboard.press("Escape");
  await page.waitForURL(/#requests$/);
  await page.keyboard.press("1");
  await page.locator('#panel[data-tab="patterns"]').waitFor();
  await page.keyboard.press("6");
  await page.locator(".clusters").waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("hand-offs are arrows from the signalling thread to the woken one", async () => {
  const { page, complaints } = await open(chromium, `${inject("costly")}#requests`, { offline: true });
  await page.locator("svg.threads .hand-off").first().waitFor();
  expect(await page.locator("svg.threads .hand-off").count()).toBe(23);
  const rows = await page.locator("svg.threads g.lane").evaluateAll((all) => all.map((lane) => lane.querySelector("rect")?.getBoundingClientRect().top ?? 0));
  const lines = await page.locator("svg.threads .hand-off line").evaluateAll((all) => all.map((line) => line.getBoundingClientRect()));
  lines.forEach((line, place) => {
    expect(line.top).toBeGreaterThan(rows[place] ?? 0);
    expect(line.bottom).toBeLessThanOrEqual((rows[place + 1] ?? 0) + 1);
  });
  const tips = await page.locator("svg.threads .hand-off path").evaluateAll((all) => all.map((tip) => tip.getBoundingClientRect().width));
  expect(Math.min(...tips)).toBeGreaterThan(4);
  expect(await page.locator(".hand-off title").first().innerHTML()).toMatch(/^host-0 .* wakes host-1 .*: signalled at 0, woken at 9\.00 µs$/);
  // The page states what is omitted, and how to see it.
  const fine = await page.locator(".workload .fine").allInnerTexts();
  expect(fine.join("\n")).toMatch(/3 further clusters with 1,234 requests.*sockcap requests -d costs/);
  expect(fine.join("\n")).toMatch(/9 further steps/);
  await page.click('[data-unusual]');
  await page.waitForURL(/request=/);
  expect(await page.locator(".unusual li").nth(1).locator("button").count()).toBe(0);
  expect(complaints).toEqual([]);
  await page.context().close();
});

const screens = [1440, 390].flatMap((width) => [false, true].map((dark) => [width, dark] as const));

test.each(screens)("requests read at %i pixels, dark: %s", async (width, dark) => {
  for (const name of ["costs", "costly"] as const) {
    const { page, complaints } = await open(chromium, `${inject(name)}#requests`, { width, height: width === 390 ? 844 : 1000, dark, offline: true });
    await page.locator("svg.threads").waitFor();
    expect(await page.evaluate(tooWide), name).toEqual([]);
    expect(await page.evaluate(emptyBoxes), name).toEqual([]);
    expect(await page.evaluate(badAxes), name).toEqual([]);
    await shoot(page, `requests-${name}-${width}-${dark ? "dark" : "light"}`, true);
    expect(await broken(page), name).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  }
});

test("a page without resources has no such tab, and a link to it says so", async () => {
  const { page } = await open(chromium, inject("small"), { offline: true });
  await page.locator("#pattern-0").waitFor();
  expect(await page.locator("#tab-requests").count()).toBe(0);
  await page.keyboard.press("6");
  expect(await page.locator("#panel").getAttribute("data-tab")).toBe("patterns");
  await page.goto(`${inject("small")}#requests`);
  await page.locator("#panel").filter({ hasText: /record --resources/ }).waitFor();
  await page.context().close();
});
