// Takes the picture of a dashboard: two replicas on a Redis are used for so long, a backend is away for a while, a Prometheus scrapes them, and Perses shows what it has.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { use } from "../load.mjs";
import { translate } from "./perses.mjs";
import { answers, freeAddress, listens, start } from "../processes.mjs";

const scrapeSeconds = 5;
const rows = ["Now", "Traffic"];
const board = new URL("../../../deploy/chart/files/dashboards/service.json", import.meta.url);

/** Two replicas, their backends and their Prometheus: the endpoints of the replicas, the address of Prometheus, and what restarts a backend. */
export async function serve(bin, dir) {
  const redis = await freeAddress();
  start("redis-server", ["--bind", "127.0.0.1", "--port", redis.split(":")[1], "--save", "", "--appendonly", "no"]);
  await listens(redis);
  const backends = [];
  const serveBackend = async (name, address) => {
    const stop = start(join(bin, "services", name), ["--listen", address]);
    await listens(address);
    return stop;
  };
  let stopTools;
  for (const name of ["tools", "resources", "prompts"]) {
    const address = await freeAddress();
    const stop = await serveBackend(name, address);
    if (name === "tools") stopTools = stop;
    backends.push([name, address]);
  }
  const targets = [];
  const endpoints = [];
  for (const replica of ["north", "south"]) {
    const [listen, admin] = [await freeAddress(), await freeAddress()];
    const flags = backends.map(([name, address]) => `--backend=${name}=${address}`);
    start(join(bin, "mcpedge"), [`--listen=${listen}`, `--admin=${admin}`, `--redis=redis://${redis}`, `--replica=${replica}`, "--log-level=error", ...flags]);
    await answers(`http://${admin}/readyz`);
    targets.push({ targets: [admin], labels: { instance: replica } });
    endpoints.push(`http://${listen}/mcp`);
  }
  const prometheus = await freeAddress();
  const config = { global: { scrape_interval: `${scrapeSeconds}s` }, scrape_configs: [{ job_name: "mcpedge", static_configs: targets }] };
  writeFileSync(join(dir, "prometheus.yml"), JSON.stringify(config)); // which is YAML
  start(process.env.PROMETHEUS || "prometheus", [`--config.file=${dir}/prometheus.yml`, `--storage.tsdb.path=${dir}/data`, `--web.listen-address=${prometheus}`]);
  await answers(`http://${prometheus}/-/ready`);
  const restart = async (seconds) => {
    stopTools();
    await new Promise((next) => setTimeout(next, seconds * 1000));
    stopTools = await serveBackend(...backends[0]);
  };
  return { endpoints, prometheus, restart };
}

/** Serves the page of the dashboard, and what it asks of Prometheus. */
export async function show(dashboard, prometheus) {
  const { outputFiles } = await build({
    entryPoints: [new URL("page.jsx", import.meta.url).pathname],
    bundle: true, write: false, mainFields: ["module", "browser", "main"], format: "iife", jsx: "automatic", minify: true, outdir: "out",
    loader: { ".woff": "dataurl", ".woff2": "dataurl" }, define: { global: "globalThis", "process.env.NODE_ENV": '"production"' }, logLevel: "error",
  });
  const script = outputFiles.find((f) => f.path.endsWith(".js")).text;
  const style = outputFiles.find((f) => f.path.endsWith(".css"))?.text ?? "";
  const given = JSON.stringify(dashboard).replaceAll("<", "\\u003c");
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${dashboard.spec.display.name}</title><style>${style}</style>
    <div id="root"></div><script>globalThis.dashboard = ${given}; globalThis.scrapeInterval = "${scrapeSeconds}s"</script><script src="/page.js"></script></html>`;
  const server = createServer(async (request, response) => {
    if (request.url === "/") return response.setHeader("Content-Type", "text/html").end(html);
    if (request.url === "/page.js") return response.setHeader("Content-Type", "text/javascript").end(script);
    if (!request.url.startsWith("/prometheus/")) return response.writeHead(404).end();
    const body = request.method === "POST" ? await new Response(request).text() : undefined;
    const reply = await fetch(`http://${prometheus}${request.url.slice("/prometheus".length)}`, {
      method: request.method, body, headers: body && { "Content-Type": request.headers["content-type"] },
    });
    response.writeHead(reply.status, { "Content-Type": reply.headers.get("content-type") }).end(await reply.text());
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.closeAllConnections() || server.close() };
}

/** Takes the picture in both schemes after so many seconds of use. */
export async function takeDashboard({ bin, seconds, browser, picture }) {
  const dir = mkdtempSync(join(tmpdir(), "mcpedge-dashboard-"));
  try {
    const { endpoints, prometheus, restart } = await serve(bin, dir);
    const used = use(endpoints, seconds);
    await new Promise((next) => setTimeout(next, seconds * 600));
    await restart(10);
    await used;
    const dashboard = translate(JSON.parse(readFileSync(board)), rows, { scrapeSeconds, rangeSeconds: seconds });
    const page = await show(dashboard, prometheus);
    for (const scheme of ["light", "dark"]) {
      await picture(browser, "dashboard", scheme, page.url, { width: 1360, height: 1170 }, async (tab) => {
        await tab.waitForFunction(() => document.querySelectorAll("canvas").length > 4, { timeout: 60_000 });
        await tab.waitForNetworkIdle({ idleTime: 2000 });
        await tab.waitForFunction(() => !document.querySelector(".MuiSkeleton-root, [role=progressbar]"), { timeout: 60_000 });
      });
    }
    page.close();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
