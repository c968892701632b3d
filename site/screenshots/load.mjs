// Clients of both eras that use edges as people's programs do, so that a dashboard has something to show: tools that succeed, that are slow, that
// fail, that do not exist, and that ask their users, lists, resources, and sessions that come and go.

const modern = "2026-07-28";
const legacy = "2025-11-25";
const capabilities = { elicitation: { form: {} } };
const forms = [{ seat: "window", room: "double", insurance: true }, { confirm: true }];

const pause = (ms) => new Promise((next) => setTimeout(next, ms));
const among = (list) => list[Math.floor(Math.random() * list.length)];

const calls = [
  () => ["weather_current", { city: among(["Barcelona", "Tokyo", "Lisbon"]) }],
  () => ["weather_current", { city: among(["Barcelona", "Tokyo", "Lisbon"]) }],
  () => ["calculator_arithmetic", { expression: `2^${Math.ceil(Math.random() * 10)} + sqrt(2)` }],
  () => ["calculator_arithmetic", { expression: "2/0" }],
  () => ["search_flights", { origin: "ZRH", destination: "Lisbon" }],
  () => ["countdown", { steps: 4, interval_ms: 40 }],
  () => ["book_trip", { destination: "Lisbon", nights: 3 }],
];

/** The message of a response that has the id, of JSON or of a stream; each receives those before it. */
async function answer(response, id, each = async () => {}) {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response.json();
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines.filter((l) => l.startsWith("data: {"))) {
      const message = JSON.parse(line.slice("data: ".length));
      if (message.id === id && !message.method) return message;
      await each(message);
    }
  }
}

function post(endpoint, message, headers) {
  return fetch(endpoint, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
}

/** One request of the revision without sessions, with the rounds in which it asks. */
async function request(endpoint, client, method, params = {}) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": modern,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    "io.modelcontextprotocol/clientInfo": { name: client, version: "1" },
  };
  const name = params.name ?? params.uri;
  const headers = { "MCP-Protocol-Version": modern, "Mcp-Method": method, ...(name && { "Mcp-Name": name }) };
  for (const form of [...forms, undefined]) {
    const reply = await answer(await post(endpoint, { id: 1, method, params: { ...params, _meta: meta } }, headers), 1);
    if (reply?.result?.resultType !== "input_required" || !form) return;
    await pause(200 + Math.random() * 800); // what the user does
    const inputResponses = Object.fromEntries(Object.keys(reply.result.inputRequests).map((key) => [key, { action: "accept", content: form }]));
    params = { ...params, inputResponses, requestState: reply.result.requestState };
  }
}

/** A session of the revision before, any of whose requests go to any replica. */
async function session(endpoints, client, until) {
  const hello = { protocolVersion: legacy, capabilities: { elicitation: {} }, clientInfo: { name: client, version: "1" } };
  const opened = await post(among(endpoints), { id: 1, method: "initialize", params: hello });
  await answer(opened, 1);
  const headers = { "Mcp-Session-Id": opened.headers.get("mcp-session-id"), "MCP-Protocol-Version": legacy };
  await post(among(endpoints), { method: "notifications/initialized" }, headers);
  await answer(await post(among(endpoints), { id: 2, method: "tools/list" }, headers), 2);
  for (let id = 3; Date.now() < until; id++) {
    const [name, args] = among(calls)();
    let asked = 0;
    const response = await post(among(endpoints), { id, method: "tools/call", params: { name, arguments: args } }, headers);
    await answer(response, id, async (message) => {
      if (message.method !== "elicitation/create") return;
      await pause(200 + Math.random() * 800);
      await post(among(endpoints), { id: message.id, result: { action: "accept", content: forms[asked++] } }, headers);
    });
    await pause(200 + Math.random() * 600);
  }
  await fetch(among(endpoints), { method: "DELETE", headers });
}

async function repeat(until, once) {
  while (Date.now() < until) {
    await once();
    await pause(200 + Math.random() * 600);
  }
}

/** Uses the edges for so many seconds, by some ten clients, more of them in the middle than at the ends. */
export async function use(endpoints, seconds) {
  const start = Date.now();
  const end = start + seconds * 1000;
  const wave = (n, one) => Promise.all(Array.from({ length: n }, async (_, i) => {
    await pause((i / n) * seconds * 400);
    await one(end - (i / n) * seconds * 300);
  }));
  await Promise.all([
    wave(4, (until) => repeat(until, () => {
      const [name, args] = among(calls)();
      return request(among(endpoints), "trip-planner", "tools/call", { name, arguments: args });
    })),
    wave(2, (until) => repeat(until, () => request(among(endpoints), "code-editor", among(["tools/list", "resources/list", "prompts/list"])))),
    wave(2, (until) => repeat(until, () => request(among(endpoints), "code-editor", "resources/read", { uri: "docs://mcpedge/backends.md" }))),
    wave(1, (until) => repeat(until, () => request(among(endpoints), "night-job", "tools/call", { name: "no_such_tool", arguments: {} }))),
    wave(4, (until) => repeat(until, () => session(endpoints, "desk-assistant", Math.min(until, Date.now() + 20_000 + Math.random() * 40_000)))),
  ]);
}
