// What the clients on Node.js share: the command line, steps, and waiting for conditions.
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual, inspect } from "node:util";

const PATIENCE = 60_000; // ms, for anything that is awaited

class Mismatch extends Error {}

// options reads "--dir DIR", and "--url URL" with "--cut URL" or "--drain URL", "--sse URL" or "-- COMMAND ARGUMENTS…".
export function options() {
  const o = {};
  const args = process.argv.slice(2);
  while (args.length > 0) {
    const flag = args.shift();
    if (flag === "--") {
      o.command = args.splice(0);
    } else if (["--dir", "--url", "--cut", "--drain", "--sse"].includes(flag) && args.length > 0) {
      o[flag.slice(2)] = args.shift();
    } else {
      console.error(`unknown or incomplete: ${flag}`);
      process.exit(2);
    }
  }
  if (!o.dir || !((o.url && (o.cut || o.drain)) || o.sse || o.command?.length)) {
    console.error("give --dir DIR, and one of: --url URL with --cut URL or --drain URL, --sse URL, -- COMMAND ARGUMENTS…");
    process.exit(2);
  }
  return o;
}

// step runs body, prints "ok <name>", and returns what body did. A failure ends the program.
export async function step(name, body) {
  try {
    const result = await within(body(), name);
    console.log(`ok ${name}`);
    return result;
  } catch (e) {
    console.log(`FAILED ${name}: ${e instanceof Mismatch ? e.message : (e?.stack ?? inspect(e))}`);
    process.exit(1);
  }
}

// equal fails unless got is deeply equal to want.
export function equal(got, want, what = "value") {
  if (!isDeepStrictEqual(got, want)) fail(what, want, got);
}

// contains fails unless the string, or the array, has the part.
export function contains(got, part, what = "value") {
  if (!got?.includes?.(part)) fail(what, `something with ${inspect(part)}`, got);
}

// rejects waits for promise to fail and returns its error.
export async function rejects(promise, what = "outcome") {
  let result;
  try {
    result = await promise;
  } catch (e) {
    return e;
  }
  fail(what, "an error", result);
}

export function fail(what, want, got) {
  throw new Mismatch(`${what}:\n  expected ${inspect(want, { depth: 9 })}\n  got      ${inspect(got, { depth: 9 })}`);
}

// within fails a promise that takes longer than limit, in ms.
export function within(promise, what, limit = PATIENCE) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Mismatch(`${what}: nothing after ${limit} ms`)), limit);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Inbox keeps what comes and lets a step wait for it.
export class Inbox {
  items = [];
  #waiting = [];

  put(item) {
    this.items.push(item);
    for (const check of this.#waiting.splice(0)) check();
  }

  // until resolves when test(items) holds, to its value.
  until(test, what) {
    const wait = new Promise((resolve) => {
      const check = () => {
        const value = test(this.items);
        if (value) resolve(value);
        else this.#waiting.push(check);
      };
      check();
    });
    return within(wait, what, PATIENCE * 0.8).catch((e) => {
      throw new Mismatch(`${e.message}; so far ${inspect(this.items, { depth: 9 })}`);
    });
  }

  clear() {
    this.items = [];
  }
}

// text joins the texts of a content list.
export function text(result) {
  return result.content.filter((c) => c.type === "text").map((c) => c.text).join("\n");
}

// walk lists all pages of a list and returns [entries, pages].
export async function walk(list, field) {
  const all = [];
  let pages = 0;
  let cursor;
  do {
    const page = await list(cursor === undefined ? undefined : { cursor });
    all.push(...page[field]);
    pages++;
    cursor = page.nextCursor;
  } while (cursor !== undefined && pages < 100);
  return [all, pages];
}

// uses says which library of node_modules this is, and its version.
export async function uses(name, from) {
  const manifest = JSON.parse(await readFile(new URL(`node_modules/${name}/package.json`, from)));
  console.log(`uses ${name} ${manifest.version}`);
}

// drain has the replica that serves the most calls end, with SIGTERM, and returns its name.
export const drain = (options) => end("drained", options.drain);

// kill ends the replica that serves the most calls with SIGKILL, and returns its name.
export const kill = (options) => end("killed", `${options.drain}/kill`);

async function end(how, url) {
  const r = await fetch(url, { method: "POST" });
  const name = await r.text();
  if (!r.ok || name === "") fail(`${how} replica`, "its name", `${r.status} ${name}`);
  return name;
}

// restore starts the replicas that ended, and waits until all are ready.
export async function restore(options) {
  const r = await fetch(`${options.drain}/restore`, { method: "POST" });
  if (!r.ok) fail("restored replicas", "that all are ready", `${r.status} ${await r.text()}`);
}

// pagesOf is how many pages so many entries have: of three each, but for the replicas, whose pages hold all.
export function pagesOf(entries, options) {
  return options.drain ? 1 : Math.ceil(entries.length / 3);
}
