// Takes the README's pictures of a page, and of a comparison's page:
//   node pictures.mjs PAGE DIRECTORY [COMPARISON]
// Next to each picture of a report is a text with its words, without figures, by which a test
// checks whether the page still has them.
import fs from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const [page, directory, comparison] = process.argv.slice(2);
if (!page || !directory) throw new Error("usage: node pictures.mjs PAGE DIRECTORY [COMPARISON]");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const open = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: "light", offline: true });
await open.goto(`file://${path.resolve(page)}`);
/** The visible words of the page and of its drawings. */
const words = async () => {
  const texts = await open.evaluate(() => [
    document.body.innerText,
    ...[...document.querySelectorAll("svg text")].filter((text) => text.getClientRects().length > 0).map((text) => text.textContent),
  ]);
  const isFigure = (word) => /^[^\p{L}]*\d/u.test(word) || !/\p{L}/u.test(word);
  return [...new Set(texts.join(" ").split(/\s+/))].filter((word) => !isFigure(word)).sort();
};
const shoot = async (name) => {
  await open.screenshot({ path: path.join(directory, `${name}.png`) });
  fs.writeFileSync(path.join(directory, `${name}.txt`), `${(await words()).join("\n")}\n`);
};

await open.click("#pattern-0");
await open.locator(".distribution canvas").waitFor();
await shoot("report");
await open.click("#tab-map");
await open.locator("svg.system").waitFor();
await open.setViewportSize({ width: 1280, height: 640 });
await shoot("map");
if (comparison) {
  const compared = await browser.newPage({ viewport: { width: 1280, height: 1000 }, colorScheme: "light", offline: true });
  await compared.goto(`file://${path.resolve(comparison)}`);
  /** Down to the end of the last drawing there. */
  const shootTo = async (name, selector) => {
    const box = await compared.locator(selector).first().boundingBox();
    const height = Math.ceil(box.y + box.height + 14);
    await compared.setViewportSize({ width: 1280, height });
    await compared.screenshot({ path: path.join(directory, `${name}.png`) });
  };
  await compared.locator(".two .legend").waitFor();
  await shootTo("diff", ".two .legend");
  await compared.setViewportSize({ width: 1280, height: 1000 });
  await compared.click("#tab-mutations");
  await compared.locator(".compared-timelines").waitFor();
  await shootTo("diff-mutation", ".mutation .two");
}
await browser.close();
