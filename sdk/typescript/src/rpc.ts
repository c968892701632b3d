import type * as grpc from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { once } from "node:events";
import type { Event, Sink } from "./call.js";
import * as failure from "./failure.js";
import type { Feed } from "./feed.js";
import type { RequestContext } from "./gen/mcpedge/v1/common.js";
import { Identities } from "./identity.js";
import type { Provided } from "./providers.js";
import type { Outcome } from "./run.js";
import type { Server } from "./server.js";
import { traced } from "./trace.js";
import { EventWriter } from "./writer.js";

/** A type of messages that can be created from some of their members. */
export type MadeFrom = { fromPartial(object: object): object };
type Handle<Req, Res> = (request: Req, sink: Sink) => failure.Awaitable<Res>;
/** The subject of a feed of changes: a URI, the providers' prefixes, and the event for a change. */
type Watched = { uri: string; fits: (prefix: string) => boolean; changed: (uri: string) => object };
type ServedCall = grpc.ServerUnaryCall<any, any> | grpc.ServerWritableStream<any, any>;

/** How much earlier, in ms, the deadline may pass at the caller, which then cancels the call. */
const deadlineSkew = 250;

/** Makes RPCs of functions. Their errors become the status of the RPC. */
export class Rpcs {
  readonly #identities: Identities | undefined;

  constructor(readonly server: Server) {
    this.#identities = server.options.identity && new Identities(server.options.identity);
  }

  /** An RPC without events. */
  unary<Req>(response: MadeFrom, handle: Handle<Req, object>): grpc.handleUnaryCall<Req, any> {
    return (call, done) => {
      this.#sinkOf(call, async (sink) => response.fromPartial(await handle(call.request, sink))).then(
        (message) => done(null, message),
        (error: unknown) => done(this.#status(error)),
      );
    };
  }

  /** An RPC without events that a caller waits for: a span, with an identity. */
  identified<Req>(response: MadeFrom, handle: Handle<Req, object>): grpc.handleUnaryCall<Req, any> {
    return (call, done) => this.unary(response, (_, sink) => this.#work(call, handle, sink))(call, done);
  }

  /** An RPC that streams events, then one outcome. */
  work<Req>(response: MadeFrom, handle: Handle<Req, Outcome<unknown>>): grpc.handleServerStreamingCall<Req, any> {
    return (call) => {
      const writer = new EventWriter(call, (event) => response.fromPartial(event));
      const outcome = async (sink: Sink) => {
        const emit = (event: Event) => sink.signal.aborted || writer.emit(event);
        const { status, ...members } = await this.#work(call, handle, { ...sink, emit });
        if (status) throw new failure.StatusError(status.code, status.details);
        return response.fromPartial(members);
      };
      this.#sinkOf(call, outcome).then(
        (message) => writer.end(message),
        (error: unknown) => call.emit("error", this.#status(error)),
      );
    };
  }

  /** A feed of changes. While it is open, providers with a matching prefix are watched. */
  watch<Req>(
    response: MadeFrom,
    feed: Feed,
    watched: (request: Req) => Watched,
  ): grpc.handleServerStreamingCall<Req, any> {
    const serve = async (call: grpc.ServerWritableStream<Req, unknown>, signal: AbortSignal, held: Set<Provided>) => {
      const { uri, fits, changed } = watched(call.request);
      const send = async (event: object) => {
        for (const provided of this.server.providers.all()) {
          if (held.has(provided) || !fits(provided.prefix)) continue; // a new provider may be the change
          held.add(provided);
          await provided.acquire();
        }
        if (signal.aborted || call.write(response.fromPartial(event))) return;
        await once(call, "drain", { signal }).catch(() => {});
      };
      const started = () => send({ started: {} });
      await feed.serve(uri, signal, started, (uri) => send(changed(uri)));
      throw new failure.StatusError(status.UNAVAILABLE, "the service is stopping; watch again elsewhere");
    };
    return (call) => {
      const held = new Set<Provided>();
      const release = () => held.forEach((provided) => provided.release());
      this.#sinkOf(call, ({ signal }) => serve(call, signal, held).finally(release)).catch((error: unknown) =>
        call.emit("error", this.#status(error)),
      );
    };
  }

  /** Runs work in the trace of its caller, whose identity is verified if the server requires one. */
  #work<Req, Res>(call: ServedCall, handle: Handle<Req, Res>, sink: Sink): Promise<Res> {
    return traced(call.getPath(), call.metadata, async () => {
      const { context } = call.request as { context?: RequestContext };
      const principal = await this.#identities?.verify(call.metadata, context?.callId ?? "");
      if (principal && context) context.principal = principal;
      return handle(call.request, sink);
    });
  }

  /**
   * Runs a function with a signal that aborts when its call ends. The signal does not abort after the function has returned. An
   * aborted call ends, also if its function still runs.
   */
  async #sinkOf<T>(call: ServedCall, fn: (sink: Sink) => failure.Awaitable<T>): Promise<T> {
    const until = Number(call.getDeadline());
    const deadline = Number.isFinite(until) ? new Date(until) : undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const abort = (code: status, why: string) => controller.abort(new failure.StatusError(code, why));
    const stop = () => abort(status.UNAVAILABLE, "the service stopped before the call had ended; call again");
    const leave = () => {
      const late = deadline !== undefined && deadline.getTime() <= Date.now() + deadlineSkew;
      if (late) abort(status.DEADLINE_EXCEEDED, "the deadline of the call is over");
      else abort(status.CANCELLED, "the call was cancelled");
    };
    const over = () => {
      call.off("cancelled", leave); // gRPC says of every call that it is over
      this.server.running.delete(stop);
    };
    const aborted = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    call.on("cancelled", leave);
    this.server.running.add(stop);
    if (call.cancelled) leave();
    return Promise.race([Promise.resolve({ signal, deadline }).then(fn).finally(over), aborted]);
  }

  /** Returns the status of a failed RPC. The details of an unexpected error are only logged. */
  #status(error: unknown): failure.Status {
    const known = failure.statusOf(error);
    if (known) return known;
    if (error instanceof failure.Failure) return failure.failureStatus(failure.wireFailure(error));
    const stack = error instanceof Error ? error.stack : undefined;
    this.server.log.error("a call failed by a fault", { error: failure.messageOf(error), stack });
    return { code: status.INTERNAL, details: "a fault of the service" };
  }
}
