// Takes the pictures of the documentation anew, light and dark, in headless Chromium: `site/screenshots/run`. Arguments choose: dashboard, terminal.
// BIN has the programs of make build, SECONDS for how long the edges of the dashboard are used, CHROMIUM the browser, PROMETHEUS its program.
import puppeteer from "puppeteer-core";
import { takeDashboard } from "./dashboard/take.mjs";
import { picture } from "./picture.mjs";
import { stopAll } from "./processes.mjs";
import { takeTerminal } from "./terminal.mjs";

const takes = { dashboard: takeDashboard, terminal: takeTerminal };
const chosen = process.argv.slice(2);
for (const name of chosen) if (!takes[name]) throw new Error(`there is no picture ${name}; there are ${Object.keys(takes).join(", ")}`);

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
try {
  for (const name of chosen.length > 0 ? chosen : Object.keys(takes)) {
    await takes[name]({ bin: process.env.BIN, seconds: Number(process.env.SECONDS || 420), browser, picture });
  }
} finally {
  await browser.close();
  stopAll();
}
