// A real browser: Debian's Chromium, without a screen and without a network.

import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";

/** Screenshots are kept here as the tests' output. */
export const SHOTS = process.env.SOCKCAP_SHOTS ?? path.join(path.dirname(fileURLToPath(import.meta.url)), "../shots");

export async function browser(): Promise<Browser> {
  mkdirSync(SHOTS, { recursive: true });
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });
}

/** A page at `url`, and its complaints: errors, and requests to other addresses. */
export async function open(
  from: Browser,
  url: string,
  options: { width?: number; height?: number; dark?: boolean; offline?: boolean; before?: (page: Page) => Promise<void> } = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await from.newContext({
    viewport: { width: options.width ?? 1440, height: options.height ?? 1000 },
    colorScheme: options.dark ? "dark" : "light",
    offline: options.offline ?? false,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(300_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("requestfailed", (request) => complaints.push(`failed: ${request.url()}`));
  const origin = new URL(url).origin;
  page.on("request", (request) => {
    const asked = request.url();
    const isOwn = asked.startsWith("data:") || asked.startsWith("blob:") || asked.split(/[?#]/)[0] === url.split(/[?#]/)[0];
    if (!isOwn && !(origin.startsWith("http") && asked.startsWith(`${origin}/api/`))) complaints.push(`asked for ${asked}`);
  });
  await options.before?.(page);
  await page.goto(url);
  return { page, complaints };
}

/** Keeps a picture of the screen, or of the whole page. */
export async function shoot(page: Page, name: string, fullPage = false): Promise<void> {
  await page.screenshot({ path: path.join(SHOTS, `${name}.png`), fullPage });
}
