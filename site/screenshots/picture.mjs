// Takes a picture of a page, light or dark, at twice its size, and makes its file small.
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";

const images = new URL("../../docs/images/", import.meta.url).pathname;
const most = 200 * 1024;

/** Makes docs/images/NAME.png, NAME-dark.png, once ready has been waited for. */
export async function picture(browser, name, scheme, url, viewport, ready) {
  const tab = await browser.newPage();
  const faults = [];
  tab.on("pageerror", (error) => faults.push(`${error}`));
  tab.on("response", (r) => r.status() >= 400 && !r.url().endsWith("/favicon.ico") && faults.push(`${r.status()} for ${r.url()}`));
  await tab.setViewport({ ...viewport, deviceScaleFactor: 2 });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" }]);
  await tab.goto(url, { waitUntil: "load" });
  const clip = await ready(tab);
  const file = `${images}${name}${scheme === "dark" ? "-dark" : ""}.png`;
  await tab.screenshot({ path: file, ...(clip && { clip }) });
  await tab.close();
  if (faults.length > 0) throw new Error(`${name}: ${faults.join("\n")}`);
  shrink(file);
}

/** Gives a picture the colors that it needs, at most 256. */
export function shrink(file) {
  execFileSync("pngquant", ["--force", "--skip-if-larger", "--strip", "--speed=1", "--output", file, "256", file], { stdio: "inherit" });
  const { size } = statSync(file);
  if (size > most) throw new Error(`${file} has ${size} bytes, more than ${most}`);
  console.log(`${file} ${Math.ceil(size / 1024)} KiB`);
}
