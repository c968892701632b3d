// Takes the official TypeScript client through all that the edge offers, in revision 2026-07-28.
//
//   node tour.mjs URL DIRECTORY
//
// URL is the MCP endpoint of an edge with the bundled services; DIRECTORY is what its resources service
// serves, with a file note.txt. Each step prints one line; the first that fails ends the tour with
// status 1.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const revision = '2026-07-28';
const patience = 20_000; // ms, for each step

const [url, directory] = process.argv.slice(2);
if (!url || !directory) {
  console.error('usage: node tour.mjs URL DIRECTORY');
  process.exit(2);
}
const note = join(directory, 'note.txt');

const client = new Client(
  { name: 'tour', version: '1.0.0' },
  {
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
    versionNegotiation: { mode: { pin: revision } },
  },
);

// What the client is asked, and what it answers.
const asked = [];
client.setRequestHandler('elicitation/create', async ({ params }) => {
  asked.push(params.message);
  const content = params.message.startsWith('Book ')
    ? { confirm: true }
    : { seat: 'aisle', room: 'suite', insurance: true };
  return { action: 'accept', content };
});
client.setRequestHandler('sampling/createMessage', async () => ({
  role: 'assistant',
  model: 'tour-model',
  content: { type: 'text', text: 'Take the first.' },
}));
client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///home/tour', name: 'home' }] }));

// What the client is told; `told` waits for the next of a kind.
const news = { message: [], updated: [] };
let wake = () => {};
function hear(kind, params) {
  news[kind].push(params);
  wake();
}
client.setNotificationHandler('notifications/message', n => hear('message', n.params));
client.setNotificationHandler('notifications/resources/updated', n => hear('updated', n.params));

async function told(kind) {
  while (news[kind].length === 0) {
    await new Promise(resolve => { wake = resolve; });
  }
  return news[kind].shift();
}

// call calls a tool that must succeed.
async function call(name, args, options, meta) {
  const result = await client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) }, options);
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  return result;
}

const text = result => result.content[0].text;

async function noteURI() {
  const { resources } = await client.listResources();
  const found = resources.find(r => r.name === 'note.txt');
  assert.ok(found, 'note.txt is not listed');
  return found.uri;
}

async function read(uri) {
  const { contents } = await client.readResource({ uri }, { cacheMode: 'bypass' });
  assert.equal(contents.length, 1);
  return contents[0].text;
}

const steps = {
  async discover() {
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    assert.equal(client.getProtocolEra(), 'modern');
    assert.equal(client.getNegotiatedProtocolVersion(), revision);
    assert.equal(client.getServerVersion().name, 'mcpedge');
    return client.getServerVersion().title;
  },

  async list() {
    const { tools } = await client.listTools();
    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    const { prompts } = await client.listPrompts();
    assert.ok(tools.some(t => t.name === 'countdown'));
    assert.ok(resources.some(r => r.name === 'note.txt'));
    assert.ok(resourceTemplates.some(t => t.name === 'weather-forecast'));
    assert.ok(prompts.some(p => p.name === 'plan-vacation'));
    return `${tools.length} tools, ${resources.length} resources, ${resourceTemplates.length} templates, ${prompts.length} prompts`;
  },

  async 'call with progress'() {
    const seen = [];
    const result = await call('countdown', { steps: 3, interval_ms: 1 }, { onprogress: p => seen.push(p) });
    assert.deepEqual(seen.map(p => [p.progress, p.total, p.message]), [[1, 3, '2 left'], [2, 3, '1 left'], [3, 3, '0 left']]);
    return text(result);
  },

  async 'structured output'() {
    const result = await call('calculator_arithmetic', { expression: '2 * (3 + 4)^2' });
    assert.equal(text(result), '98');
    assert.deepEqual(result.structuredContent, { result: 98, expression: '2 * (3 + 4)^2' });
    return JSON.stringify(result.structuredContent);
  },

  async 'a mistake'() {
    const result = await client.callTool({ name: 'calculator_arithmetic', arguments: { expression: '1 +' } });
    assert.equal(result.isError, true);
    await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), { code: -32602 });
    return text(result);
  },

  async elicitation() {
    const result = await call('book_trip', { destination: 'Lisbon', nights: 2 });
    assert.equal(result.structuredContent.status, 'booked');
    assert.deepEqual(result.structuredContent.wishes, { seat: 'aisle', room: 'suite', insurance: true });
    assert.equal(asked.length, 2);
    return text(result);
  },

  async sampling() {
    const result = await call('recommend_flight', { origin: 'Zurich', destination: 'Barcelona' });
    assert.match(text(result), /^Take the first\.[^]*tour-model/);
    return text(result).split('\n')[0];
  },

  async roots() {
    const result = await call('list_workspace', {});
    assert.deepEqual(result.structuredContent.roots, [{ uri: 'file:///home/tour', name: 'home' }]);
    return result.structuredContent.roots[0].uri;
  },

  async read() {
    const uri = await noteURI();
    assert.equal(await read(uri), await readFile(note, 'utf8'));
    await assert.rejects(client.readResource({ uri: 'none://x' }), { code: -32602 });
    return uri.split('/').at(-1);
  },

  async 'template and completion'() {
    const { completion } = await client.complete({
      ref: { type: 'ref/resource', uri: 'weather://forecast/{city}/{date}' },
      argument: { name: 'city', value: 'Lis' },
    });
    assert.deepEqual(completion.values, ['Lisbon']);
    const uri = `weather://forecast/${completion.values[0]}/2026-08-01`;
    assert.match(await read(uri), /Lisbon/);
    return uri;
  },

  async 'listen and a change'() {
    const uri = await noteURI();
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    assert.deepEqual(subscription.honoredFilter, { toolsListChanged: true, resourceSubscriptions: [uri] });
    await writeFile(note, 'changed');
    do {
      assert.equal((await told('updated')).uri, uri);
    } while (await read(uri) !== 'changed');
    await subscription.close();
    assert.equal(await subscription.closed, 'local');
    return 'the note is read again';
  },

  async prompt() {
    const { messages } = await client.getPrompt({ name: 'plan-vacation', arguments: { destination: 'Lisbon', days: '3' } });
    assert.match(messages[0].content.text, /3 days in Lisbon/);
    return messages[0].content.text.split('\n')[0];
  },

  async 'log level'() {
    await call('countdown', { steps: 1, interval_ms: 1 }, {}, { [LOG_LEVEL_META_KEY]: 'error' });
    await call('countdown', { steps: 1, interval_ms: 1 });
    await call('countdown', { steps: 1, interval_ms: 1 }, {}, { [LOG_LEVEL_META_KEY]: 'info' });
    const message = await told('message');
    assert.equal(message.level, 'info');
    assert.equal(message.logger, 'countdown');
    assert.equal(news.message.length, 0, 'messages came that nobody asked for');
    return message.data;
  },

  async cancel() {
    const controller = new AbortController();
    let steps = 0;
    await assert.rejects(call('countdown', { steps: 1000, interval_ms: 20 }, {
      signal: controller.signal,
      onprogress: () => { if (++steps === 2) controller.abort(new Error('enough')); },
    }));
    const result = await call('calculator_arithmetic', { expression: '1' });
    assert.equal(text(result), '1');
    return `after ${steps} of 1000 steps`;
  },
};

// within fails when a step takes too long.
async function within(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${patience} ms`)), patience);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

for (const [name, step] of Object.entries(steps)) {
  try {
    console.log(`ok    ${name}: ${await within(step())}`);
  } catch (error) {
    console.log(`FAIL  ${name}: ${error.stack ?? error}`);
    process.exit(1);
  }
}
await client.close();
