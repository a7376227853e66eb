// Takes the README's pictures of a page: node pictures.mjs PAGE DIRECTORY
import path from "node:path";
import { chromium } from "playwright-core";

const [page, directory] = process.argv.slice(2);
if (!page || !directory) throw new Error("usage: node pictures.mjs PAGE DIRECTORY");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const open = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: "light", offline: true });
await open.goto(`file://${path.resolve(page)}`);
const shoot = (name) => open.screenshot({ path: path.join(directory, `${name}.png`) });

await open.click("#pattern-0");
await open.locator(".distribution canvas").waitFor();
await shoot("report");
await open.click("#tab-map");
await open.locator("svg.system").waitFor();
await open.setViewportSize({ width: 1280, height: 640 });
await shoot("map");
await browser.close();
