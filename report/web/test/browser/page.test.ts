// The page of a small system as a reader uses it, by mouse and by keyboard.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { broken } from "./aloud";
import { browser, open, shoot } from "./browser";

let chromium: Browser;
beforeAll(async () => {
  chromium = await browser();
});
afterAll(() => chromium?.close());

/** Both ways to the page: from disk without a network, and from `sockcap view`. */
describe.each([["disk", true], ["view", false]] as const)("from %s", (way, isDisk) => {
  const url = () => (isDisk ? inject("small") : inject("view"));
  const opened = async (hash = "", options: Parameters<typeof open>[2] = {}) =>
    open(chromium, url() + hash, { offline: isDisk, ...options });

  test("patterns are ranked, found, sorted and shown by click", async () => {
    const { page, complaints } = await opened();
    await page.locator("#pattern-0").waitFor();
    const all = await page.locator("#patterns [role=option]").count();
    expect(all).toBeGreaterThanOrEqual(2);
    await shoot(page, `${way}-patterns`);

    await page.fill("#search", "dns");
    await expectText(page, "#found", /^\d+ of \d+ patterns/);
    expect(await page.locator("#patterns [role=option]").count()).toBeLessThan(all);
    await page.fill("#search", "nobody is called so");
    expect(await page.locator("#patterns [role=option]").count()).toBe(0);
    await page.fill("#search", "");

    const first = () => page.locator("#pattern-0 b").innerText();
    await page.selectOption("#sort", "mean");
    const byMean = await first();
    await page.selectOption("#sort", "count");
    expect(byMean).toContain("dns");
    expect(await first()).not.toContain("dns");

    await page.click("#pattern-0");
    await page.locator("article.detail svg.timeline").waitFor();
    await page.waitForURL(/pattern=/);
    expect(await page.locator(".hops tbody tr").count()).toBeGreaterThanOrEqual(6);
    expect(await page.locator(".badge").innerText()).toBe("critical");
    await shoot(page, `${way}-pattern`);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("a timeline has boxes, lines, and a diamond for what was not traced; parallel branches have rows", async () => {
    const { page, complaints } = await opened("#patterns?sort=mean");
    await page.click("#pattern-0");
    const svg = page.locator("svg.timeline");
    await svg.waitFor();
    expect(await svg.locator("g.node rect").count()).toBeGreaterThanOrEqual(4);
    expect(await svg.locator("g.network line").count()).toBeGreaterThanOrEqual(4);
    expect(await svg.locator("g.untraced polygon").count()).toBe(1);
    expect(await svg.locator("line.fork").count()).toBeGreaterThanOrEqual(1);
    const tops = await svg.locator("g.node rect").evaluateAll((boxes) => boxes.map((box) => box.getAttribute("y")));
    expect(new Set(tops).size).toBeGreaterThanOrEqual(2);
    // Widths are in proportion to time: about 10 ms at stock, about 3 ms at prices.
    const width = async (name: string) => {
      const box = svg.locator(`g.node[aria-label^="${name} "] rect`).first();
      return Number(await box.getAttribute("width"));
    };
    expect(await width("stock")).toBeGreaterThan(1.5 * (await width("prices")));
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("a delay's distribution is shown by click on the timeline and in the tree", async () => {
    const { page, complaints } = await opened("#patterns?sort=count");
    await page.click("#pattern-0");
    await page.locator(".distribution canvas").waitFor();
    expect(await page.locator(".distribution figcaption b").innerText()).toBe("the whole path");
    await page.locator('svg.timeline g.node[aria-label^="stock "]').first().click();
    await expectText(page, ".distribution figcaption b", /^stock before it sends to web$/);
    await page.waitForURL(/delay=\d+\.node/);
    const cell = page.locator(".hops tbody tr", { hasText: "web → prices" }).locator("button.delay").last();
    await cell.click();
    await expectText(page, ".distribution figcaption b", /^network from web to prices$/);
    expect(await drawn(page, ".distribution canvas")).toBeGreaterThan(500);
    await shoot(page, `${way}-distribution`);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("instances are stepped through, slowest first", async () => {
    const { page, complaints } = await opened("#patterns?sort=count");
    await page.click("#pattern-0");
    await page.locator(".instances li").first().waitFor();
    await page.click('[aria-label="Next instance"]');
    await expectText(page, ".detail h3", /^Instance 1, /);
    const time = async () => millis((await page.locator(".detail h3 .soft").first().innerText()).trim());
    const slowest = await time();
    await page.click('[aria-label="Next instance"]');
    await expectText(page, ".instances output", /^2 of /);
    expect(await time()).toBeLessThanOrEqual(slowest);
    await page.waitForURL(/instance=1/);
    await shoot(page, `${way}-instance`);
    const count = Number(/of ([\d,]+)/.exec(await page.locator(".instances output").innerText())?.[1]?.replace(",", ""));
    // From disk there is a selection: 24, and the examples of contexts. From the server, all.
    if (isDisk) {
      expect(count).toBeGreaterThanOrEqual(24);
      expect(count).toBeLessThan(100);
    } else expect(count).toBeGreaterThan(300);
    await page.selectOption(".instances select", "time");
    await expectText(page, ".instances output", /^1 of /);
    await page.getByRole("button", { name: "average" }).click();
    await expectText(page, ".detail h3", /^On average/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("the map shows callers and callees, and a node leads to its patterns", async () => {
    const { page, complaints } = await opened("#map");
    await page.locator("svg.system").waitFor();
    const nodes = await page.locator("svg.system g.place").count();
    expect(nodes).toBe(5);
    expect(await page.locator("svg.system g.edge").count()).toBe(4);
    await shoot(page, `${way}-map`);
    await page.locator('svg.system g.place[aria-label^="dns "]').click();
    expect(await page.locator("svg.system g.edge.dim").count()).toBe(3);
    expect(await page.locator(".map tbody tr").count()).toBe(1);
    await page.getByRole("button", { name: "Patterns that dns takes part in" }).click();
    await expectText(page, "#found", /^\d+ of /);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("throughput and latency are drawn over time, and clocks and gaps have their tab", async () => {
    const { page, complaints } = await opened("#time");
    await page.locator(".time canvas").first().waitFor();
    // The charts of all patterns, and of the selected one.
    await page.locator(".time canvas").nth(3).waitFor();
    expect(await drawn(page, ".time canvas")).toBeGreaterThan(500);
    await shoot(page, `${way}-time`);
    await page.click("#tab-clocks");
    await expectText(page, "#panel", /1 node not traced/);
    await expectText(page, "#panel", /Clocks/);
    await shoot(page, `${way}-clocks`);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("the keyboard does all of it", async () => {
    const { page, complaints } = await opened();
    await page.locator("#pattern-0").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("web");
    await page.keyboard.press("Enter");
    await page.locator("svg.timeline").waitFor();
    const chosen = () => page.locator('#patterns [aria-selected="true"] .rank').innerText();
    // The number is the same in the terminal and the exports.
    expect(await chosen()).toBe("#0");
    await page.keyboard.press("j");
    await expectText(page, '#patterns [aria-selected="true"] .rank', /^#1$/);
    await page.keyboard.press("k");
    await expectText(page, '#patterns [aria-selected="true"] .rank', /^#0$/);
    await page.keyboard.press("r");
    await page.waitForURL(/sort=count/);
    await page.locator(".instances li").first().waitFor();
    await page.keyboard.press("n");
    await expectText(page, ".detail h3", /^Instance 1, /);
    await page.keyboard.press("n");
    await page.keyboard.press("p");
    await expectText(page, ".instances output", /^1 of /);
    await page.keyboard.press("a");
    await expectText(page, ".detail h3", /^On average/);
    // An element of the timeline by the tab and return keys.
    await page.locator("svg.timeline g.node").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/delay=/);
    for (const [key, name] of [["2", "map"], ["3", "time"], ["4", "clocks"], ["1", "patterns"]]) {
      await page.keyboard.press(key ?? "");
      await page.locator(`#panel[data-tab="${name}"]`).waitFor();
    }
    await page.locator("#tab-patterns").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator('#panel[data-tab="map"]').waitFor();
    await page.locator("svg.system g.place").first().focus();
    await page.keyboard.press("Enter");
    expect(await page.locator("svg.system g.place.chosen").count()).toBe(1);
    await page.keyboard.press("?");
    await page.locator("dialog").waitFor({ state: "visible" });
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "hidden" });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("a link keeps the view, and back goes back", async () => {
    const { page } = await opened();
    await page.click("#pattern-1");
    await expectText(page, ".detail h2 .rank", /^#1$/);
    await page.locator(".instances li").first().waitFor();
    await page.click('[aria-label="Next instance"]');
    await expectText(page, ".detail h3", /^Instance 1/);
    await page.waitForURL(/instance=0/);
    const link = page.url();
    const heading = await page.locator(".detail h2").innerText();
    // Another browser has no cookie, and needs the token of the printed address.
    const other = await open(chromium, url() + new URL(link).hash, { offline: isDisk });
    await expectText(other.page, ".detail h3", /^Instance 1/);
    expect(await other.page.locator(".detail h2").innerText()).toBe(heading);
    await other.page.context().close();
    await page.click("#tab-map");
    await page.goBack();
    await page.locator('#panel[data-tab="patterns"]').waitFor();
    expect(page.url()).toBe(link);
    // From an instance of a pattern to its starting time, and forward again: going back makes no
    // step.
    await page.goBack();
    await expectText(page, ".detail h2 .rank", /^#0$/);
    await page.goForward();
    await expectText(page, ".detail h3", /^Instance 1/);
    expect(page.url()).toBe(link);
    await page.context().close();
  });

  test("on a phone it can be read, in the dark too", async () => {
    const { page, complaints } = await opened("", { width: 360, height: 740, dark: true });
    await page.locator("#pattern-0").waitFor();
    for (const view of ["list", "pattern", "map", "time", "clocks"]) {
      if (view === "pattern") {
        await page.click("#pattern-0");
        await page.locator(".distribution canvas").waitFor();
        expect(await page.locator("#patterns").isVisible()).toBe(false);
      } else if (view !== "list") {
        await page.click(`#tab-${view}`);
      }
      // Only elements that scroll by themselves are wider than the screen.
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide, view).toBeLessThanOrEqual(360);
      await shoot(page, `${way}-phone-${view}`);
    }
    await page.click("#tab-patterns");
    await page.click(".back");
    expect(await page.locator("#patterns").isVisible()).toBe(true);
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.keyboard.press("t");
    await page.keyboard.press("t");
    const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect([dark, light]).toEqual(["rgb(15, 18, 22)", "rgb(246, 247, 249)"]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("everything has a name that can be read aloud, and enough contrast", async () => {
    for (const dark of [false, true]) {
      const { page } = await opened("#patterns", { dark });
      await page.click("#pattern-0");
      await page.locator(".distribution canvas").waitFor();
      for (const tab of ["patterns", "map", "time", "clocks"]) {
        await page.click(`#tab-${tab}`);
        expect(await broken(page), `${tab} ${dark ? "dark" : "light"}`).toEqual([]);
      }
      await page.context().close();
    }
  });
});

test("a page of a part is marked as such", async () => {
  const { page, complaints } = await open(chromium, inject("part"), { offline: true });
  await expectText(page, ".part", /^Only a part of the trace: through dns$/);
  expect(await page.locator("#patterns [role=option]").count()).toBe(1);
  await page.click("#tab-time");
  await page.locator(".time canvas").first().waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("patterns have the numbers that the terminal has", async () => {
  const { page } = await open(chromium, `${inject("small")}#patterns?sort=mean`, { offline: true });
  await page.locator("#pattern-0").waitFor();
  const rows = await page.locator("#patterns [role=option]").evaluateAll((all) =>
    all.map((row) => [row.querySelector(".rank")?.textContent ?? "", row.querySelector("small")?.textContent ?? ""]),
  );
  expect(rows.length).toBeGreaterThan(1);
  expect(rows.map(([number]) => number)).toEqual(inject("ranked"));
  await page.context().close();
});

/** Waits until the first of `selector` has a matching text. */
async function expectText(page: Page, selector: string, text: RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor();
}

/** The number of non-empty pixels of a canvas. */
async function drawn(page: Page, selector: string): Promise<number> {
  return page.locator(selector).first().evaluate((element) => {
    const canvas = element as HTMLCanvasElement;
    const pixels = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    let drawn = 0;
    for (let at = 3; at < pixels.length; at += 4) if (pixels[at]) drawn++;
    return drawn;
  });
}

/** A duration as the page shows it, in milliseconds. */
function millis(text: string): number {
  const [number, unit] = text.split(" ");
  return Number(number) * ({ ns: 1e-6, µs: 1e-3, ms: 1, s: 1e3 }[unit ?? ""] ?? NaN);
}
