// Looks at the built site in Chromium as a reader does: every page, on a screen and on a phone. It fails for a link or an anchor that leads
// nowhere, a message on the console, a file that is missing, a page wider than a phone, a search that finds nothing, and, by Lighthouse, a
// score of 95 or less. `--pages` leaves out Lighthouse. CHROMIUM names the browser, chromium unless set.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import lighthouse, { desktopConfig } from "lighthouse";
import puppeteer from "puppeteer-core";
import sirv from "sirv";

const dist = new URL("dist", import.meta.url).pathname;
const serve = sirv(dist, { extensions: ["html"], gzip: false });
const server = createServer((request, response) => serve(request, response, () => response.writeHead(404).end()));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

const paths = [...readFileSync(`${dist}/sitemap.xml`, "utf8").matchAll(/<loc>([^<]+)<\/loc>/g)].map((m) => new URL(m[1]).pathname);
const faults = [];
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});

/** Visits a page, notes what it complains of, and gives its links and the anchors it has. */
async function visit(path, viewport) {
  const page = await browser.newPage();
  await page.setViewport(viewport);
  page.on("console", (m) => ["error", "warn"].includes(m.type()) && faults.push(`${path}: the console says: ${m.text()}`));
  page.on("pageerror", (error) => faults.push(`${path}: ${error}`));
  page.on("response", (r) => r.status() >= 400 && faults.push(`${path}: ${r.status()} for ${r.url()}`));
  await page.goto(origin + path, { waitUntil: "networkidle0" });
  const seen = await page.evaluate(() => ({
    links: [...document.querySelectorAll("a[href]")].map((a) => a.href),
    anchors: [...document.querySelectorAll("[id]")].map((e) => e.id),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }));
  await page.close();
  if (seen.wide > 0) faults.push(`${path}: ${seen.wide} px wider than a screen of ${viewport.width}`);
  return seen;
}

const pages = new Map();
for (const path of paths) {
  pages.set(path, await visit(path, { width: 1280, height: 900 }));
  await visit(path, { width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
}
const place = (pathname) => pathname.replace(/\.html$/, "").replace(/\/index$/, "/");
const known = new Map([...pages].map(([path, page]) => [place(path), page]));
let links = 0;
for (const [path, { links: all }] of pages) {
  for (const link of new Set(all)) {
    const url = new URL(link);
    if (url.origin !== origin) continue;
    links++;
    const target = known.get(place(url.pathname));
    if (!target) faults.push(`${path}: no page ${url.pathname}`);
    else if (url.hash && !target.anchors.includes(decodeURIComponent(url.hash.slice(1)))) faults.push(`${path}: no anchor ${url.pathname}${url.hash}`);
  }
}

// Every page can be reached by the sidebar.
const sidebar = new Set(pages.get("/reference/errors.html").links.map((link) => place(new URL(link).pathname)));
for (const path of pages.keys()) if (!["/", "/contents.html"].includes(path) && !sidebar.has(place(path))) faults.push(`${path}: not in the sidebar`);

const reader = await browser.newPage();
await reader.goto(origin + "/", { waitUntil: "networkidle0" });
await reader.click("#local-search button");
await reader.waitForSelector("#localsearch-input");
await reader.type("#localsearch-input", "elicitation");
await reader.waitForSelector("#localsearch-list a.result", { timeout: 20_000 }).catch(() => faults.push("the search for elicitation finds nothing"));
await reader.close();
console.log(`${pages.size} pages on two screens, ${links} links among them`);

/** What Lighthouse says of a page: the best of three runs, since a busy machine is no fault of the page. */
async function judge(path) {
  let best;
  for (let run = 0; run < 3 && !(best?.lowest > 95); run++) {
    const page = await browser.newPage();
    const { lhr } = await lighthouse(origin + path, { logLevel: "error" }, desktopConfig, page);
    await page.close();
    const scores = Object.values(lhr.categories)
      .filter((c) => c.id !== "agentic-browsing")
      .map((c) => [c.title, Math.round(c.score * 100)]);
    const lowest = Math.min(...scores.map(([, score]) => score));
    if (!best || lowest > best.lowest) best = { lhr, scores, lowest };
  }
  return best;
}

if (!process.argv.includes("--pages")) {
  for (const path of ["/", "/configuration", "/backends/python", "/reference/settings"]) {
    const { lhr, scores } = await judge(path);
    console.log(path, scores.map(([title, score]) => `${title} ${score}`).join(", "));
    for (const [title, score] of scores) {
      if (score > 95) continue;
      const why = Object.values(lhr.categories).find((c) => c.title === title).auditRefs
        .filter((ref) => ref.weight > 0 && lhr.audits[ref.id].score !== null && lhr.audits[ref.id].score < 1).map((ref) => ref.id);
      faults.push(`${path}: Lighthouse gives ${title} ${score}: ${why.join(", ")}`);
    }
  }
}
await browser.close();
server.close();
for (const fault of faults) console.error(fault);
console.log(`${faults.length} faults`);
process.exitCode = faults.length > 0 ? 1 : 0;
