import { Server as GrpcServer, ServerCredentials, type ServerOptions as GrpcOptions } from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";
import { HealthImplementation } from "grpc-health-check";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { existsSync, lstatSync, readFileSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { createSecureContext } from "node:tls";
import { parseArgs, promisify } from "node:util";
import { Unwinding } from "./asked.js";
import { messageOf } from "./failure.js";
import { meant, mustKnow, type Names } from "./options.js";
import { descriptors } from "./gen/descriptors.js";
import { register } from "./services.js";
import type { Server } from "./server.js";

/** The maximum size of a message in either direction. */
const messageBytes = 16 << 20;

const defaultGrace = 10_000; // ms
/** How long, in ms, calls that outlasted the grace may take to report their end to their callers. */
const ending = 250;
/** How long, in ms, the process lives after the grace if handlers continue to run. */
const rest = 1000;

/** The names in the health service: "" for the whole server, and each service. */
const services = ["", ...["Backend", "Tool", "Resource", "Prompt"].map((name) => `mcpedge.v1.${name}Service`)];

export interface TlsFiles {
  /** PEM files, read once. With clientCa, clients must present a certificate of it. */
  cert: string;
  key: string;
  clientCa?: string;
}

export interface ServeOptions {
  /** host:port, [IPv6]:port, or unix:/path; port 0 means any. Other addresses are refused. */
  listen?: string;
  tls?: TlsFiles;
  /** How long, in ms, running calls may take when the service stops. Absent means 10 s. */
  grace?: number;
  /** Further options of the gRPC server. */
  grpc?: GrpcOptions;
}

/** Options of a complete main program. */
export interface ProgramOptions extends ServeOptions {
  /** The flags; an unknown one is an error. Absent means all of the command line. For programs with their own flags. */
  args?: string[];
}

const options: Names<ServeOptions> = { listen: true, tls: true, grace: true, grpc: true };

/** A running service. */
export interface Serving {
  /** host:port, or unix:/path. */
  address: string;
  /**
   * Health reports NOT_SERVING, change feeds end, and running calls have the grace to finish; later they end as
   * UNAVAILABLE, with their signals aborted. Resolves when all have ended.
   */
  stop(): Promise<void>;
}

/**
 * Serves on an address, by default 127.0.0.1:50051, with the standard health service, reflection and messages up to 16 MiB.
 */
export async function start(server: Server, given: ServeOptions = {}): Promise<Serving> {
  mustKnow("what start is given", given, options);
  const { listen = "127.0.0.1:50051", tls, grace = defaultGrace } = given;
  mustBeAddress(listen);
  if (tls) mustKnow("tls of what is served", tls, { cert: true, key: true, clientCa: true });
  const grpc = new GrpcServer({
    "grpc.max_receive_message_length": messageBytes,
    "grpc.max_send_message_length": messageBytes,
    ...given.grpc,
  });
  register(server, grpc);
  const health = new HealthImplementation();
  for (const service of services) health.setStatus(service, "SERVING");
  health.addToServer(grpc);
  new ReflectionService(loadFileDescriptorSetFromBuffer(descriptors)).addToServer(grpc);
  await freeSocket(listen);
  const port = await promisify(grpc.bindAsync).call(grpc, listen, credentials(tls));
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    for (const service of services) health.setStatus(service, "NOT_SERVING");
    server.close();
    await new Promise<void>((resolve) => {
      // grpc-js loses the callback of tryShutdown when a connection breaks at that moment, so the end of the grace resolves, too.
      const force = () => (grpc.forceShutdown(), resolve());
      let timer = setTimeout(() => {
        server.running.forEach((end) => end());
        timer = setTimeout(force, ending);
      }, grace);
      grpc.tryShutdown(() => (clearTimeout(timer), resolve()));
    });
  };
  const address = listen.startsWith("unix:") ? listen : listen.replace(/:\d+$/, `:${port}`);
  return { address, stop: () => (stopping ??= stop()) };
}

/** Throws unless an address has a host and a port: gRPC uses 443 if the port is absent. */
function mustBeAddress(listen: unknown): void {
  const [, port] = /^(?:(?:dns|ipv4|ipv6):(?:\/\/\/)?)?(?:\[[^\]]+\]|[^:/[\]]+):(\d{1,5})$/.exec(String(listen)) ?? [];
  if (typeof listen === "string" && (/^unix(-abstract)?:./.test(listen) || (port && Number(port) < 65536))) return;
  const what = `the address ${JSON.stringify(listen)} is none to listen on`;
  throw new TypeError(`${what}: write a host and a port, as 127.0.0.1:50051, or unix:PATH`);
}

function credentials(tls: TlsFiles | undefined): ServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const ca = tls.clientCa ? pem("cert", tls.clientCa) : null;
  const [cert, key] = [pem("cert", tls.cert), pem("key", tls.key)];
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error(`the key in ${tls.key} is not that of the certificate in ${tls.cert}: give the pair`);
  }
  return ServerCredentials.createSsl(ca, [{ cert_chain: cert, private_key: key }], ca !== null);
}

/** Reads a file of certificates, or of a key. */
function pem(kind: "cert" | "key", file: string): Buffer {
  const text = readFileSync(file);
  try {
    createSecureContext({ [kind]: text });
  } catch (error) {
    const what = kind === "cert" ? "certificate" : "key";
    throw new Error(`the file ${file} holds no ${what} in PEM: ${messageOf(error)}`, { cause: error });
  }
  return text;
}

/** Removes an unused Unix socket. */
async function freeSocket(listen: string): Promise<void> {
  const path = /^unix:(?:\/\/)?(.*)$/.exec(listen)?.[1];
  if (!path || !existsSync(path)) return;
  if (!lstatSync(path).isSocket()) {
    throw new Error(`cannot listen on ${listen}: ${path} is there and is no socket: remove it, or name another path`);
  }
  const probe = connect(path);
  const failed = await once(probe, "connect").catch((error: NodeJS.ErrnoException) => error);
  probe.destroy();
  if ("code" in failed && failed.code === "ECONNREFUSED") unlinkSync(path);
}

/**
 * A complete main program: it parses the flags --listen, --tls-cert, --tls-key and --tls-client-ca, serves until
 * SIGTERM or SIGINT, and stops gracefully; a handler that runs after the grace does not keep the process alive. Errors
 * are logged, and the process ends with status 1, also for an unknown flag.
 */
export async function serve(server: Server, { args, ...given }: ProgramOptions = {}): Promise<void> {
  const log = server.log;
  const service = server.options.name;
  try {
    const ended = new Promise<void>((resolve) => {
      for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
    });
    process.on("unhandledRejection", outlived);
    const serving = await start(server, { ...given, ...flags(args ?? process.argv.slice(2)) });
    log.info("serving", { service, address: serving.address });
    await ended;
    const exit = () => {
      if (server.running.size === 0) return;
      log.warn("handlers run on after the grace: the process ends", { service, handlers: server.running.size });
      process.exit();
    };
    setTimeout(exit, (given.grace ?? defaultGrace) + rest).unref();
    await serving.stop();
  } catch (error) {
    log.error("the service failed", { service, error: messageOf(error) });
    process.exitCode = 1;
  }
}

/** outlived ignores the rejections of questions that a handler has not awaited. Other unhandled rejections end the process, as usual. */
function outlived(reason: unknown): void {
  if (!(reason instanceof Unwinding) && process.listenerCount("unhandledRejection") === 1) throw reason;
}

const own = "(a program with flags of its own gives serve the option args)";
const flagNames = ["listen", "tls-cert", "tls-key", "tls-client-ca"] as const;

/** The address in the command line. */
export function flags(argv: string[]): Pick<ServeOptions, "listen" | "tls"> {
  const options = Object.fromEntries(flagNames.map((name) => [name, { type: "string" as const }]));
  const { values, positionals, tokens } = parseArgs({ args: argv, options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== "option" || flagNames.includes(token.name as (typeof flagNames)[number])) continue;
    throw new Error(`unknown flag ${token.rawName}: ${meant(token.name, flagNames)} ${own}`);
  }
  if (positionals.length > 0)
    throw new Error(`unknown argument ${JSON.stringify(positionals[0])}: flags begin with --`);
  const [listen, cert, key, clientCa] = flagNames.map((name) => {
    if (values[name] === true) throw new Error(`--${name} needs a value`);
    return values[name] as string | undefined;
  });
  if (!cert !== !key) throw new Error("--tls-cert and --tls-key belong together: give both");
  if (clientCa && !cert) throw new Error("--tls-client-ca needs --tls-cert and --tls-key");
  return { ...(listen && { listen }), ...(cert && key && { tls: { cert, key, ...(clientCa && { clientCa }) } }) };
}
