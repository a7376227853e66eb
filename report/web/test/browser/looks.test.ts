// That a page reads at a glance, measured in the browser: on a wide screen and on a phone, light
// and dark. Every view is kept as a screenshot. SOCKCAP_PAGES names further pages to measure: pages
// of real systems (scripts/screenshots).

import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { browser, open, shoot } from "./browser";
import { badMap, badTimeline, emptyBoxes, tooWide } from "./measure";

let chromium: Browser;
beforeAll(async () => {
  chromium = await browser();
});
afterAll(() => chromium?.close());

const real = (process.env.SOCKCAP_PAGES ?? "").split(":").filter(Boolean);
const pages: [name: string, url: () => string][] =
  real.length > 0
    ? real.map((page) => [path.basename(page, ".html"), () => `file://${path.resolve(page)}`])
    : [
        ["shop", () => inject("small")],
        ["fifteen", () => inject("fifteen")],
        ["forty", () => inject("forty")],
        ["sparse", () => inject("sparse")],
      ];
const screens = [1440, 390].flatMap((width) => [false, true].map((dark) => [width, dark] as const));

describe.each(pages)("%s", (name, url) => {
  test.each(screens)("reads at %i pixels, dark: %s", async (width, dark) => {
    const { page, complaints } = await open(chromium, url(), { width, height: width === 390 ? 844 : 1000, dark, offline: true });
    const looked = async (view: string) => {
      await page.mouse.move(0, 0);
      expect(await page.evaluate(tooWide), view).toEqual([]);
      expect(await page.evaluate(emptyBoxes), view).toEqual([]);
      await shoot(page, `${name}-${view}-${width}-${dark ? "dark" : "light"}`, true);
    };
    await drawn(page);
    // A first pattern is shown without any click.
    const first = page.locator('#patterns [aria-selected="true"]');
    expect(await first.getAttribute("aria-posinset")).toBe("1");
    const number = await first.locator(".rank").innerText();
    expect(number).toMatch(/^#\d+$/);
    expect(await page.locator(".detail h2 .rank").innerText()).toBe(number);
    expect(await page.evaluate(badTimeline)).toEqual([]);
    await looked("patterns");
    await page.click("#tab-map");
    await page.locator("svg.system g.place").first().waitFor();
    expect(await page.evaluate(badMap)).toEqual([]);
    await looked("map");
    // Only the lines of one node, with more room for labels.
    await page.locator("svg.system g.place").last().click();
    await page.locator("svg.system g.place.chosen").waitFor();
    expect(await page.evaluate(badMap)).toEqual([]);
    await page.click("#tab-time");
    await page.locator(".time figure").nth(2).waitFor();
    await looked("time");
    await page.click("#tab-clocks");
    await page.locator(".holes h2").first().waitFor();
    await looked("clocks");
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

/** Waits until the selected pattern is drawn. */
async function drawn(page: Page): Promise<void> {
  await page.locator("svg.timeline").waitFor();
  await page.locator(".distribution canvas").waitFor();
  await page.locator(".instances li").first().waitFor();
}

describe.skipIf(real.length > 0)("made systems", () => {
  const opened = (url: string, hash: string, more = {}) => open(chromium, `${url}#${hash}`, { offline: true, ...more });

  test("colour says how long a node takes", async () => {
    const { page } = await opened(inject("forty"), "map");
    const nodes = page.locator("svg.system g.place");
    await nodes.first().waitFor();
    expect(await nodes.count()).toBe(40);
    const seen = await nodes.evaluateAll((groups) =>
      groups.map((group) => ({
        time: parseFloat(group.querySelector(".time")?.textContent ?? ""),
        fill: getComputedStyle(group.querySelector("rect") as Element).fill,
      })),
    );
    // Stores of 2, 11, 20 and 29 ms, services of about 4.
    const fills = (from: number, to: number) => new Set(seen.filter(({ time }) => time > from && time < to).map(({ fill }) => fill));
    expect(fills(1.8, 2.2).size).toBe(1);
    expect(fills(10, 12).size).toBe(1);
    expect(fills(28, 30).size).toBe(1);
    expect(new Set([...fills(1.8, 2.2), ...fills(3, 5), ...fills(10, 12), ...fills(28, 30)]).size).toBe(4);
    // The longest are the darkest, and the legend has these shades.
    const lightness = (fill: string) => (fill.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
    const [quick, slow] = [[...fills(1.8, 2.2)][0] ?? "", [...fills(28, 30)][0] ?? ""];
    expect(lightness(slow)).toBeLessThan(lightness(quick));
    const keys = await page.locator(".legend .shade .key").evaluateAll((all) => all.map((key) => getComputedStyle(key).backgroundColor));
    expect(keys).toContain(slow);
    expect(keys).toContain(quick);
    // In the timeline a node has the same colour.
    await page.click("#tab-patterns");
    const box = page.locator('svg.timeline g.node[aria-label^="store-"] rect').first();
    const store = await box.locator("..").getAttribute("aria-label");
    const fill = await box.evaluate((rect) => getComputedStyle(rect).fill);
    await page.click("#tab-map");
    const ofMap = page.locator(`svg.system g.place[aria-label^="${store?.split(" ")[0]} "] rect`);
    expect(await ofMap.evaluate((rect) => getComputedStyle(rect).fill)).toBe(fill);
    await page.context().close();
  });

  test("a map of 15 nodes has its labels, one of 40 the labels of the selected node", async () => {
    const small = await opened(inject("fifteen"), "map");
    await small.page.locator("svg.system g.place").first().waitFor();
    const labels = (page: Page) => page.locator("svg.system g.edge:not(.dim) text").count();
    const edges = await small.page.locator("svg.system g.edge").count();
    expect(await small.page.locator("svg.system g.place").count()).toBe(15);
    expect(await labels(small.page)).toBeGreaterThanOrEqual(0.8 * edges);
    await small.page.context().close();
    const { page } = await opened(inject("forty"), "map");
    await page.locator('svg.system g.place[aria-label^="store-3 "]').click();
    await page.locator("svg.system g.edge.dim").first().waitFor({ state: "attached" });
    expect(await page.locator("svg.system g.edge:not(.dim)").count()).toBe(4);
    expect(await labels(page)).toBeGreaterThanOrEqual(2);
    // All of it is visible without scrolling the map.
    const [map, card] = [await page.locator("svg.system").boundingBox(), await page.locator(".map .scroll").first().boundingBox()];
    expect(map?.width ?? 0).toBeLessThanOrEqual(card?.width ?? 0);
    expect(map?.height ?? 0).toBeLessThan(1100);
    await page.context().close();
  });

  test("the badge counts messages that were seen at one end, and a table names their nodes", async () => {
    const { page } = await opened(inject("small"), "patterns");
    const badge = page.locator("#tab-clocks .count");
    // Every tenth of 400 requests calls an untraced name server.
    expect(await badge.getAttribute("title")).toBe("80 messages seen at one end only");
    expect(await badge.innerText()).toBe("80");
    // The capture gaps, at the top of every view.
    expect(await page.locator("header .not-seen").innerText()).toMatch(/Not seen:\s*80 messages seen at one end only/);
    await page.click("#tab-clocks");
    const rows = await page.locator(".holes tbody tr").evaluateAll((all) => all.map((row) => (row as HTMLElement).innerText.replace(/\s+/g, " ")));
    expect(rows[0]).toMatch(/^(web dns|dns web)/);
    expect(rows.some((row) => /^web dns .*receipt: receiver not traced 40\b/.test(row)), rows.join("\n")).toBe(true);
    expect(rows.some((row) => /^dns web .*sending: sender not traced 40\b/.test(row)), rows.join("\n")).toBe(true);
    await page.context().close();
  });

  test("p99 has its name in the tree, in a column and on a phone", async () => {
    const wide = await opened(inject("small"), "patterns");
    await wide.page.locator(".hops").waitFor();
    const heads = await wide.page.locator(".hops thead tr:last-child th").allInnerTexts();
    expect(heads.slice(0, 4)).toEqual(["mean", "p99", "mean", "p99"]);
    // A head stands above its column.
    const [head, cell] = [
      await wide.page.locator(".hops thead tr:last-child th").nth(1).boundingBox(),
      await wide.page.locator(".hops tbody tr").nth(1).locator("td").nth(1).boundingBox(),
    ];
    expect(Math.abs((head?.x ?? 0) + (head?.width ?? 0) - (cell?.x ?? 0) - (cell?.width ?? 0))).toBeLessThan(2);
    await wide.page.context().close();
    const { page } = await opened(inject("small"), "patterns", { width: 390, height: 844 });
    const named = page.locator('.hops tbody td[data-label="p99"]').first();
    await named.waitFor();
    expect(await named.evaluate((cell) => getComputedStyle(cell, "::before").content)).toContain("p99");
    await page.context().close();
  });

  test("bars grow to the right", async () => {
    const { page } = await opened(inject("small"), "patterns");
    await page.locator(".hops .bar").first().waitFor();
    const metric = await page.locator(".row .metric").first().evaluate((of) => getComputedStyle(of).backgroundImage);
    expect(metric).toContain("to right");
    const starts = await page.locator(".bar").evaluateAll((bars) =>
      bars.map((bar) => [bar.getBoundingClientRect().left, bar.firstElementChild?.getBoundingClientRect().left, bar.firstElementChild?.getBoundingClientRect().width]),
    );
    for (const [bar, filled] of starts) expect(Math.abs((bar ?? 0) - (filled ?? -9))).toBeLessThan(1);
    const lengths = await page.locator(".shares .bar span").evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
    expect(lengths).toEqual(lengths.toSorted((one, other) => other - one));
    await page.context().close();
  });

  test("bins fit a narrow distribution", async () => {
    const { page } = await opened(inject("sparse"), "patterns");
    await page.locator(".distribution canvas").waitFor();
    // 60 paths of 20 ms, within 1%: as many heights as there are bars.
    const heights = await page.locator(".distribution canvas").evaluate((element) => {
      const canvas = element as HTMLCanvasElement;
      const { data, width, height } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [], width: 0, height: 0 };
      const bar = getComputedStyle(document.documentElement).getPropertyValue("--bar").trim();
      const [red, green, blue] = [1, 3, 5].map((at) => parseInt(bar.slice(at, at + 2), 16));
      const columns: number[] = [];
      for (let x = 0; x < width; x++) {
        let filled = 0;
        for (let y = 0; y < height; y++) {
          const at = (y * width + x) * 4;
          if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) filled++;
        }
        columns.push(filled);
      }
      const changes = columns.filter((filled, x) => x > 0 && filled > 0 && Math.abs(filled - (columns[x - 1] ?? 0)) > 3).length;
      return { changes, covered: columns.filter((filled) => filled > 0).length / width };
    });
    expect(heights.changes).toBeGreaterThanOrEqual(6);
    expect(heights.covered).toBeGreaterThan(0.3);
    await page.context().close();
  });

  test("slices with two requests are no trend", async () => {
    const { page } = await opened(inject("sparse"), "time");
    await page.locator(".time figure").nth(2).waitFor();
    const said = await page.locator(".time figcaption").first().innerText();
    // 60 requests in 60 s, in 240 slices until now.
    expect(Number(/slices of ([\d.]+) s/.exec(said)?.[1])).toBeGreaterThan(4);
    const few = await opened(inject("few"), "time");
    await few.page.locator(".time figure").nth(2).waitFor();
    // Six requests in twelve seconds: dots, and no line.
    expect(await few.page.locator(".time figure").nth(1).innerText()).toContain("mean of fewer than 5 paths");
    const ink = await few.page.locator(".time canvas").nth(1).evaluate((element) => {
      const canvas = element as HTMLCanvasElement;
      const data = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
      // The colour of the lines of means.
      let lines = 0;
      for (let at = 0; at < data.length; at += 4) if (data[at] === 26 && data[at + 1] === 31 && data[at + 2] === 39) lines++;
      return lines;
    });
    expect(ink).toBe(0);
    // A pattern with six requests is not cut into slices at all.
    expect(await few.page.locator(".time figure").nth(2).innerText()).toContain("6.0 expected paths are too few");
    expect(await few.page.locator(".time figure").nth(2).locator("canvas").count()).toBe(0);
    await few.page.context().close();
    await page.context().close();
  });

  test("values under the pointer are shown, and no empty boxes for them without it", async () => {
    const { page } = await opened(inject("small"), "patterns");
    await page.locator(".distribution canvas").waitFor();
    const legend = page.locator(".distribution .u-legend");
    expect(await legend.isVisible()).toBe(false);
    await page.locator(".distribution .chart").hover();
    expect(await legend.isVisible()).toBe(true);
    expect(await legend.innerText()).toMatch(/share/);
    await page.context().close();
  });
});
