import assert from "node:assert/strict";
import http2 from "node:http2";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Client, type ClientReadableStream, credentials, type ChannelCredentials, Metadata } from "@grpc/grpc-js";
import { context, trace } from "@opentelemetry/api";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { type Call, Failure, Result, type Serving, start, text, version } from "@mcpedge/capability";
import { PromptServiceClient } from "@mcpedge/capability/contract/prompts";
import { ResourceServiceClient } from "@mcpedge/capability/contract/resources";
import { ToolServiceClient } from "@mcpedge/capability/contract/tools";
import { z } from "zod";
import { flags } from "../dist/serve.js";
import { make } from "./server.js";

const running: Serving[] = [];
const clients: { close(): void }[] = [];
after(async () => {
  clients.forEach((c) => c.close());
  await Promise.all(running.map((s) => s.stop()));
});

async function serving(server = make(), options = {}, creds: ChannelCredentials = credentials.createInsecure()) {
  const serving = await start(server, { listen: "127.0.0.1:0", grace: 200, ...options });
  running.push(serving);
  const tools = new ToolServiceClient(serving.address, creds);
  clients.push(tools);
  return { serving, tools };
}

const request = (name: string, context = {}) => ({
  name,
  argumentsJson: "{}",
  inputResponses: [],
  state: Buffer.alloc(0),
  context: { callId: "c1", progressWanted: true, logLevel: 1, attempt: 1, round: 1, ...context } as never,
});

/** All messages of a stream, and its status. */
async function all<T>(stream: ClientReadableStream<T>): Promise<{ messages: T[]; code: number; details: string }> {
  const messages: T[] = [];
  stream.on("data", (m: T) => messages.push(m));
  stream.on("error", () => {});
  const status = await new Promise<{ code: number; details: string }>((resolve) => stream.on("status", resolve));
  return { messages, code: status.code, details: status.details };
}

test("the version is the package's", () => {
  const { version: packaged } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  assert.equal(version, packaged);
});

test("flags say where to serve", () => {
  assert.deepEqual(flags(["--listen", "127.0.0.1:9"]), { listen: "127.0.0.1:9" });
  assert.deepEqual(flags(["--tls-cert=a", "--tls-key", "b", "--tls-client-ca=c"]), {
    tls: { cert: "a", key: "b", clientCa: "c" },
  });
  assert.deepEqual(flags([]), {});
  assert.throws(() => flags(["--tls-cert=a"]), /belong together/);
  assert.throws(() => flags(["--tls-client-ca=a"]), /needs --tls-cert/);
  assert.throws(() => flags(["--listen"]), /--listen needs a value/);
  assert.throws(
    () => flags(["--lisen", "a"]),
    /unknown flag --lisen: do you mean "listen"\? \(a program with flags of its own/,
  );
  assert.throws(
    () => flags(["--listen=a", "-v"]),
    /unknown flag -v: known are "listen", "tls-cert", "tls-key", "tls-client-ca"/,
  );
  assert.throws(() => flags(["--own=1"]), /unknown flag --own/);
  assert.throws(() => flags(["9000"]), /unknown argument "9000": flags begin with --/);
});

test("events come before one outcome, and a signal that was not aborted stays so", async () => {
  const server = make();
  let signal: AbortSignal | undefined;
  server.registerTool("work", {}, (_, call) => {
    signal = call.signal;
    call.progress(1, 2, "half");
    call.progress(1, 2, "does not rise");
    call.log("warning", { a: 1 }, "me");
    return "done";
  });
  const { tools } = await serving(server);
  const { messages, code } = await all(tools.callTool(request("work")));
  assert.equal(code, 0);
  assert.deepEqual(
    [messages[0]?.progress?.message, messages[1]?.log?.dataJson, messages.length],
    ["half", '{"a":1}', 3],
  );
  assert.equal(messages[2]?.result?.content[0]?.text?.text, "done");
  assert.equal(signal?.aborted, false);
});

test("neither names of a client's choice nor what is no message of the contract ends the process", async () => {
  const server = make();
  const bad = (() => "no list") as never;
  server.registerPrompt("p", { argsSchema: z.object({ own: z.string() }), complete: { own: bad } }, () => "");
  server.registerTool("scopes", {}, () => {
    throw new Failure("PermissionDenied", "no", { scopes: "admin" as never });
  });
  const { tools, serving: s } = await serving(server);
  const prompts = new PromptServiceClient(s.address, credentials.createInsecure());
  clients.push(prompts);
  const complete = (argumentName: string) =>
    new Promise<unknown>((resolve) =>
      prompts.completePrompt(
        { name: "p", argumentName, argumentValue: "", contextArguments: {}, context: request("").context },
        (error, answer) => resolve(error?.code ?? answer.values),
      ),
    );
  for (const name of ["constructor", "toString", "__proto__", "other"])
    assert.deepEqual(await complete(name), [], name);
  assert.equal(await complete("own"), 13);
  const { code, details } = await all(tools.callTool(request("scopes")));
  assert.deepEqual([code, details], [13, "a fault of the service"]);
});

test("a client that leaves, and a deadline, abort the signal", async () => {
  const server = make();
  const aborted: string[] = [];
  let begun = 0;
  let started = () => {};
  server.registerTool("wait", {}, async (_, call) => {
    begun++;
    started();
    await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
    aborted.push((call.signal.reason as Error).message);
    throw call.signal.reason;
  });
  const { tools } = await serving(server);
  const running = new Promise<void>((resolve) => (started = resolve));
  const left = tools.callTool(request("wait"));
  const gone = all(left);
  await running;
  left.cancel();
  assert.equal((await gone).code, 1);
  // A call whose deadline passes before the server has seen it runs no handler: the next one has more time.
  for (let within = 100; begun < 2; within *= 2) {
    const late = await all(tools.callTool(request("wait"), new Metadata(), { deadline: Date.now() + within }));
    assert.equal(late.code, 4);
  }
  while (aborted.length < 2) await new Promise(setImmediate);
  assert.deepEqual(aborted, ["the call was cancelled", "the deadline of the call is over"]);
});

test("progress that a slow reader has not taken is coalesced, and checkpoints and the outcome come", async () => {
  const server = make();
  const many = 20_000;
  let over = () => {};
  const ended = new Promise<void>((resolve) => (over = resolve));
  server.registerTool("fast", {}, async (_, call) => {
    for (let i = 1; i <= many; i++) {
      call.progress(i, many, "x".repeat(1000));
      if (i % 1000 === 0) await new Promise(setImmediate);
    }
    call.checkpoint(Buffer.from("s"));
    over();
    return "done";
  });
  const { tools } = await serving(server);
  const stream = tools.callTool(request("fast", { checkpoints: true }));
  stream.pause();
  await ended;
  const read = all(stream);
  stream.resume();
  const { messages } = await read;
  const progress = messages.flatMap((m) => (m.progress ? [m.progress.progress] : []));
  assert.ok(progress.length < many / 2, `${progress.length} of ${many}`);
  assert.equal(progress.at(-1), many);
  assert.deepEqual(
    progress,
    progress.toSorted((a, b) => a - b),
  );
  assert.ok(messages.at(-2)?.checkpoint && messages.at(-1)?.result);
});

test("feeds begin with started, tell of changes, and end when the service stops", async () => {
  const server = make();
  let watching = 0;
  server.provide("a://", {
    list: () => [],
    read: () => "x",
    watch: () => {
      watching++;
      return () => void watching--;
    },
  });
  const { tools, serving: s } = await serving(server);
  const resources = new ResourceServiceClient(s.address, credentials.createInsecure());
  clients.push(resources);
  const list = tools.watchTools({ principal: undefined });
  const one = resources.watchResource({ uri: "a://1", principal: undefined });
  assert.ok((await once(list, "data"))[0].started);
  assert.ok((await once(one, "data"))[0].started);
  assert.equal(watching, 1);
  server.registerTool("new", {}, () => "");
  assert.ok((await once(list, "data"))[0].changed);
  server.resourceUpdated("a://2");
  server.resourceUpdated("a://1");
  assert.equal((await once(one, "data"))[0].updated.uri, "a://1");
  const refused = await all(resources.watchResource({ uri: "b://1", principal: undefined }));
  assert.equal(refused.code, 5);
  const ended = [all(list), all(one)];
  await s.stop();
  assert.deepEqual(
    (await Promise.all(ended)).map((e) => e.code),
    [14, 14],
  );
  assert.equal(watching, 0);
});

test("a call is a span of its caller's trace, which is active in the handler", async () => {
  const provider = new NodeTracerProvider();
  provider.register();
  const server = make();
  server.registerTool("traced", {}, () => trace.getActiveSpan()?.spanContext().traceId ?? "none");
  const { tools } = await serving(server);
  const metadata = new Metadata();
  metadata.set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  const { messages } = await all(tools.callTool(request("traced"), metadata));
  assert.equal(messages[0]?.result?.content[0]?.text?.text, "0af7651916cd43dd8448eb211c80319c");
  await provider.shutdown();
  trace.disable();
  context.disable();
});

test("onCancel has the call's state and id", async () => {
  const server = make();
  const cancellations: unknown[] = [];
  server.registerTool("job", { onCancel: (call) => void cancellations.push(call.id, call.state) }, () => "");
  const { tools } = await serving(server);
  const cancel = (name: string, state = Buffer.alloc(0)) =>
    new Promise<number>((resolve) =>
      tools.cancelCall({ name, context: request("").context, state }, (error) => resolve(error?.code ?? 0)),
    );
  assert.equal(await cancel("job"), 0);
  assert.equal(await cancel("other"), 0);
  assert.equal(await cancel("job", Buffer.from("not ours")), 3);
  assert.deepEqual(cancellations, ["c1", undefined]);
});

test("with identity, work without a signed one is refused, and the principal is who it says", async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" };
  const keys = createServer((_, response) => response.end(JSON.stringify({ keys: [jwk] }))).listen(0, "127.0.0.1");
  await once(keys, "listening");
  const jwksUrl = `http://127.0.0.1:${(keys.address() as { port: number }).port}/`;
  const server = make({ identity: { jwksUrl, audience: "me" } });
  server.registerTool(
    "who",
    {},
    (_, call) => `${call.principal.subject} ${call.principal.scopes} ${call.claim("team")}`,
  );
  const { tools } = await serving(server);
  const call = async (txn: string, audience = "me", key = privateKey) => {
    const claims = { txn, scope: "a b", claims: { team: "tea" }, sub: "ada", aud: audience };
    const header = { alg: "ES256", kid: "k1", typ: "mcp-identity+jwt" };
    const token = await new SignJWT(claims).setProtectedHeader(header).setExpirationTime("1m").sign(key);
    const metadata = new Metadata();
    metadata.set("mcp-identity", token);
    return all(tools.callTool(request("who"), metadata));
  };
  assert.equal((await call("c1")).messages[0]?.result?.content[0]?.text?.text, "ada a,b tea");
  assert.match((await call("c2")).details, /another call's/);
  assert.equal((await call("c1", "you")).code, 16);
  assert.equal((await call("c1", "me", (await generateKeyPair("ES256")).privateKey)).code, 16);
  const none = await all(tools.callTool(request("who")));
  assert.deepEqual([none.code, /the call has 0 identities/.test(none.details)], [16, true]);
  keys.close();
});

test("TLS, with certificates of clients", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "tls-"));
  const [cert, key] = [join(dir, "cert.pem"), join(dir, "key.pem")];
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
  try {
    execFileSync("openssl", [...made, ...names, "-keyout", key, "-out", cert], { stdio: "ignore" });
  } catch {
    return t.skip("openssl is missing");
  }
  const [bad, other] = [join(dir, "bad.pem"), join(dir, "other.pem")];
  writeFileSync(bad, "no PEM");
  execFileSync("openssl", ["ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", other]);
  for (const [tls, message] of [
    [{ cert: bad, key }, `the file ${bad} holds no certificate in PEM`],
    [{ cert, key: bad }, `the file ${bad} holds no key in PEM`],
    [{ cert, key, clientCa: bad }, `the file ${bad} holds no certificate in PEM`],
    [{ cert, key: other }, `the key in ${other} is not that of the certificate in ${cert}: give the pair`],
  ] as const) {
    const said = (error: Error) => error.message.startsWith(message) || assert.equal(error.message, message);
    await assert.rejects(start(make(), { listen: "127.0.0.1:0", tls }), said);
  }
  const server = make();
  server.registerRawTool("raw", {}, (args) => new Result({ content: [text(args)] }));
  const [pem, secret] = [readFileSync(cert), readFileSync(key)];
  const { tools, serving: s } = await serving(
    server,
    { tls: { cert, key, clientCa: cert } },
    credentials.createSsl(pem, secret, pem),
  );
  assert.equal((await all(tools.callTool(request("raw")))).messages[0]?.result?.content[0]?.text?.text, "{}");
  const stranger = new ToolServiceClient(s.address, credentials.createSsl(pem));
  clients.push(stranger);
  assert.equal(
    (await all(stranger.callTool(request("raw"), new Metadata(), { deadline: Date.now() + 60_000 }))).code !== 0,
    true,
  );
});

test("calls have the grace to finish when the service stops", async () => {
  const server = make();
  let begun = () => {};
  let go = () => {};
  const started = new Promise<void>((resolve) => (begun = resolve));
  server.registerTool("short", {}, () => {
    begun();
    return new Promise<string>((resolve) => (go = () => resolve("in time")));
  });
  const { tools, serving: s } = await serving(server, { grace: 120_000 });
  const short = all(tools.callTool(request("short")));
  await started;
  const stopped = s.stop();
  go();
  assert.equal((await short).messages[0]?.result?.content[0]?.text?.text, "in time");
  await stopped;
});

test("calls have no more than the grace when the service stops", async () => {
  const server = make();
  const started: Promise<void>[] = [];
  const wait = (name: string, work: (call: Call) => Promise<string>) => {
    let begun = () => {};
    started.push(new Promise<void>((resolve) => (begun = resolve)));
    server.registerTool(name, {}, (_, call) => (begun(), work(call)));
  };
  wait("endless", () => new Promise(() => {}));
  let talk = () => {};
  wait("talking", (call) => {
    talk = () => call.progress(1);
    return new Promise(() => {});
  });
  let reason: unknown;
  let cancelling = () => {};
  started.push(new Promise<void>((resolve) => (cancelling = resolve)));
  const onCancel = (call: Call) => {
    call.signal.addEventListener("abort", () => (reason = call.signal.reason));
    cancelling();
    return new Promise<void>(() => {});
  };
  server.registerTool("cancelled", { onCancel }, () => "");
  const { tools, serving: s } = await serving(server, { grace: 300 });
  const endless = all(tools.callTool(request("endless")));
  const talking = all(tools.callTool(request("talking")));
  const cancel = new Promise<number>((resolve) =>
    tools.cancelCall({ name: "cancelled", context: request("").context, state: Buffer.alloc(0) }, (error) =>
      resolve(error?.code ?? 0),
    ),
  );
  await Promise.all(started);
  const stopped = s.stop();
  assert.equal((await endless).code, 14); // details are those of the connection where it ends first, as with Node 20.9
  talk();
  assert.deepEqual([(await talking).code, await cancel], [14, 14]);
  assert.match(String(reason), /the service stopped/);
  await stopped;
});

test("a handler that minds no signal does not keep the process", async () => {
  const program = `
    import { serve, Server } from "@mcpedge/capability";
    const server = new Server({ name: "deaf", version: "1.0.0" });
    server.registerTool("deaf", {}, () => {
      console.error("called");
      return new Promise(() => setInterval(() => {}, 1000));
    });
    await serve(server, { listen: "127.0.0.1:0", grace: 100 });
    console.error("served");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  const late = setTimeout(() => child.kill("SIGKILL"), 120_000);
  let log = "";
  child.stderr.on("data", (text: Buffer) => (log += text));
  const logged = async (what: RegExp) => {
    while (!what.test(log) && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 10));
    return what.exec(log)?.[1] ?? "";
  };
  const tools = new ToolServiceClient(await logged(/"address":"([^"]+)"/), credentials.createInsecure());
  clients.push(tools);
  const ended = all(tools.callTool(request("deaf")));
  await logged(/called/);
  child.kill("SIGTERM");
  assert.deepEqual(await exited, [0, null]);
  clearTimeout(late);
  assert.equal((await ended).code, 14);
  assert.match(log, /served[^]*the process ends/);
});

test("a question that is left behind does not end the program, and other rejections do", async () => {
  const program = `
    import { setImmediate } from "node:timers/promises";
    import { serve, Server } from "@mcpedge/capability";
    const server = new Server({ name: "careless", version: "1.0.0" });
    const helper = async (call) => void (await call.roots("roots"));
    const left = async (left) => {
      void left();
      for (let turn = 0; turn < 20; turn++) await setImmediate(); // a rejection ends a program within two
      return "lived";
    };
    server.registerTool("asked", {}, (_, call) => left(() => helper(call)));
    server.registerTool("failed", {}, () => left(() => Promise.reject(new Error("left behind"))));
    await serve(server, { listen: "127.0.0.1:0", args: [] });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  const late = setTimeout(() => child.kill("SIGKILL"), 120_000);
  let log = "";
  child.stderr.on("data", (text: Buffer) => (log += text));
  const listening = /"address":"([^"]+)"/;
  while (!listening.test(log) && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 10));
  const tools = new ToolServiceClient(listening.exec(log)?.[1] ?? "", credentials.createInsecure());
  clients.push(tools);
  for (let call = 0; call < 2; call++) {
    const { messages } = await all(tools.callTool(request("asked")));
    assert.equal(messages[0]?.inputRequired?.requests[0]?.key, "roots");
  }
  await all(tools.callTool(request("failed")));
  assert.deepEqual(await exited, [1, null]);
  clearTimeout(late);
  assert.match(log, /Error: left behind/);
});

test("a program ends at once for a flag that it does not know, and names it", () => {
  const program = `
    import { serve, Server } from "@mcpedge/capability";
    await serve(new Server({ name: "typo", version: "1.0.0" }));`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", program, "--", "typo", "--lisen", "127.0.0.1:0"],
    { encoding: "utf8", timeout: 120_000 },
  );
  assert.equal(status, 1);
  assert.match(stderr, /unknown flag --lisen: do you mean \\"listen\\"\?/);
});

test("a connection that breaks as the service stops holds it up for the grace at most", async () => {
  const { createServer } = http2;
  const sessions: http2.ServerHttp2Session[] = [];
  http2.createServer = ((options: http2.ServerOptions) =>
    createServer(options).on("session", (session) => sessions.push(session))) as typeof createServer;
  const { tools, serving: s } = await serving(make(), { grace: 300 });
  http2.createServer = createServer;
  await all(tools.callTool(request("raw")));
  sessions.forEach((session) => session.destroy());
  assert.equal(sessions.length, 1);
  await s.stop();
});

test("a failure to listen is said", async () => {
  const { serving: s } = await serving();
  await assert.rejects(start(make(), { listen: s.address }), /EADDRINUSE|No address added/);
});

test("health and reflection are served", async () => {
  const { serving: s } = await serving();
  const client = new Client(s.address, credentials.createInsecure());
  clients.push(client);
  const same = (bytes: Buffer) => bytes;
  const health = await new Promise<Buffer | undefined>((resolve) =>
    client.makeUnaryRequest("/grpc.health.v1.Health/Check", same, same, Buffer.alloc(0), (_, answer) =>
      resolve(answer),
    ),
  );
  assert.deepEqual(health, Buffer.from([8, 1])); // status: SERVING
  const reflection = client.makeBidiStreamRequest(
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    same,
    same,
  );
  reflection.on("error", () => {}); // the server may stop before the stream ends
  reflection.write(Buffer.from([0x3a, 1, 0x2a])); // list_services: "*"
  const [services] = (await once(reflection, "data")) as [Buffer];
  reflection.write(Buffer.from([0x22, 22, ...Buffer.from("mcpedge.v1.ToolService")])); // file_containing_symbol
  const [file] = (await once(reflection, "data")) as [Buffer];
  reflection.end();
  for (const name of ["BackendService", "ToolService", "ResourceService", "PromptService"]) {
    assert.ok(services.includes(`mcpedge.v1.${name}`), name);
  }
  assert.ok(file.includes("CallToolRequest") && file.includes("WatchTools"));
});

test("what is no socket is not removed, but a socket without a server is", async () => {
  const dir = mkdtempSync(join(tmpdir(), "mcpedge-"));
  const [file, socket] = [join(dir, "file"), join(dir, "socket")];
  const killed = `require("net").createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, 9))`;
  spawnSync(process.execPath, ["-e", killed]);
  assert.ok(existsSync(socket));
  await serving(make(), { listen: `unix:${socket}` });
  await assert.rejects(start(make(), { listen: `unix:${socket}` }), /EADDRINUSE|No address added/);
  writeFileSync(file, "precious");
  await assert.rejects(
    start(make(), { listen: `unix:${file}` }),
    /is there and is no socket: remove it, or name another path/,
  );
  assert.equal(readFileSync(file, "utf8"), "precious");
});

test("an address without a host or a port is an error that says what to write", async () => {
  for (const listen of ["localhost", ":50051", "50051", "0.0.0.0:99999", "tcp://127.0.0.1:50051", "::1:50051", 50051]) {
    const what = `the address ${JSON.stringify(listen)} is none to listen on`;
    const message = `${what}: write a host and a port, as 127.0.0.1:50051, or unix:PATH`;
    await assert.rejects(start(make(), { listen: listen as string }), { message });
  }
  for (const listen of ["localhost:0", "[::1]:0"]) {
    const serving = await start(make(), { listen }).catch((error: Error) => error);
    if ("stop" in serving) await serving.stop();
    else assert.match(serving.message, /No address added|EADDRNOTAVAIL|EAFNOSUPPORT/);
  }
});
