// A host of MCP Apps: @modelcontextprotocol/ext-apps on the SDK's client. What a browser would do is done by hand: the page's
// script runs in a context of its own with as much of a window as it uses.
//
//   node host.mjs URL ERA TRANSPORT TOOL    ERA is legacy or modern, TRANSPORT http or sse
import assert from "node:assert/strict";
import { once, EventEmitter } from "node:events";
import vm from "node:vm";
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, RESOURCE_MIME_TYPE, buildAllowAttribute, getToolUiResourceUri, isToolVisibilityAppOnly } from "@modelcontextprotocol/ext-apps/app-bridge";

const [url, era, transport, name] = process.argv.slice(2);
const extension = "io.modelcontextprotocol/ui";
const revision = era === "modern" ? "2026-07-28" : "2025-11-25";

const host = { name: "host", version: "1.0.0" };
const client = new Client(host, {
  capabilities: { extensions: { [extension]: { mimeTypes: [RESOURCE_MIME_TYPE] } } },
  versionNegotiation: { mode: era === "modern" ? { pin: revision } : "legacy" },
});
await client.connect(transport === "sse" ? new SSEClientTransport(new URL(url)) : new StreamableHTTPClientTransport(new URL(url)));
assert.equal(client.getNegotiatedProtocolVersion(), revision);
assert.deepEqual(client.getServerCapabilities().extensions?.[extension], {}, "the extension is announced");

// The tool leads to its page, which is listed and read.
const { tools } = await client.listTools();
const tool = tools.find((t) => t.name === name);
assert.ok(tool, `no tool ${name} among ${tools.map((t) => t.name)}`);
assert.ok(!isToolVisibilityAppOnly(tool));
assert.ok(isToolVisibilityAppOnly(tools.find((t) => t.name === name.replace(/roll$/, "reroll"))));
const uri = getToolUiResourceUri(tool);
const listed = (await client.listResources()).resources.find((r) => r.uri === uri);
assert.equal(listed?.mimeType, RESOURCE_MIME_TYPE, `${uri} is listed`);
const { contents: [page] } = await client.readResource({ uri });
assert.equal(page.uri, uri);
assert.equal(page.mimeType, RESOURCE_MIME_TYPE);
assert.deepEqual(page._meta.ui, { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true });
assert.deepEqual(listed._meta.ui, page._meta.ui);
assert.equal(buildAllowAttribute(page._meta.ui.permissions), "");

// The model calls the tool.
const args = { dice: 3 };
const result = await client.callTool({ name, arguments: args });
assert.equal(result.content[0].type, "text");
assert.equal(result.structuredContent.dice.length, 3);
assert.equal([...result._meta["dice/faces"]].length, 3);

// The page is loaded, and told the result.
const { window, elements, toPage, transport: toHost } = pageOf(page.text);
const bridge = new AppBridge(client, host, { serverTools: {} }, { hostContext: { toolInfo: { id: 1, tool } } });
const done = new EventEmitter();
bridge.oninitialized = () => done.emit("initialized");
const initialized = once(done, "initialized", { signal: AbortSignal.timeout(20_000) });
await bridge.connect(toHost);
vm.runInContext(/<script>([^]*)<\/script>/.exec(page.text)[1], window);
await initialized;
assert.equal(bridge.getAppVersion()?.name, "dice");
await bridge.sendToolInput({ arguments: args });
await bridge.sendToolResult(result);
await shown(() => elements.total.textContent === `${result.structuredContent.total} in all`);
assert.equal(elements.faces.textContent, result._meta["dice/faces"]);

// The page calls the tool that is its own, through the host.
elements.faces.textContent = "";
elements.again.emit("click");
await shown(() => elements.faces.textContent !== "" && !elements.again.disabled);
assert.match(elements.faces.textContent, /^[⚀-⚅]{3}$/u);
assert.match(elements.total.textContent, /^\d+ in all$/);

await bridge.teardownResource({});
await client.close();
console.log("ok");

// shown awaits what the page does in turn with its host.
async function shown(holds) {
  const until = Date.now() + 20_000;
  while (!holds()) {
    assert.ok(Date.now() < until, `the page shows ${elements.faces.textContent} and ${elements.total.textContent}`);
    await new Promise((next) => setTimeout(next, 5));
  }
}

// pageOf is a window for a page's script, its elements by id, and the host's end of the channel to it.
function pageOf(html) {
  const elements = Object.fromEntries([...html.matchAll(/ id="(\w+)"/g)].map(([, id]) => {
    const element = Object.assign(new EventEmitter(), { textContent: "", disabled: false, dataset: {} });
    element.addEventListener = element.on;
    return [id, element];
  }));
  const hears = [];
  const transport = {
    async start() {},
    async close() {},
    async send(message) { toPage(message); },
  };
  const parent = { postMessage: (message) => setImmediate(() => transport.onmessage(structuredClone(message))) };
  const window = { parent, addEventListener: (_, f) => hears.push(f) };
  const toPage = (data) => setImmediate(() => hears.forEach((f) => f({ source: parent, data: structuredClone(data) })));
  const document = { getElementById: (id) => elements[id] };
  return { window: vm.createContext({ window, document, Map, Promise, Error }), elements, toPage, transport };
}
