import {
  type Metadata,
  Server as GrpcServer,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { Backend } from "./backend.js";
import type { Event, Sink } from "./call.js";
import { Failure, failureStatus, messageOf, type Status, StatusError, statusOf, wireFailure } from "./failure.js";
import type { Feed } from "./feed.js";
import { BackendServiceService, DescribeResponse } from "./gen/mcpedge/v1/backend.js";
import type { RequestContext } from "./gen/mcpedge/v1/common.js";
import * as prompts from "./gen/mcpedge/v1/prompts.js";
import * as resources from "./gen/mcpedge/v1/resources.js";
import * as tools from "./gen/mcpedge/v1/tools.js";
import { Identities } from "./identity.js";
import { Holding } from "./providers.js";
import type { Outcome } from "./run.js";
import type { Server } from "./server.js";
import { traced } from "./trace.js";
import { EventWriter } from "./writer.js";

type Unary<Req, Res> = (call: ServerUnaryCall<Req, Res>, done: sendUnaryData<Res>) => void;
type Streaming<Req, Res> = (call: ServerWritableStream<Req, Res>) => void;
type AnyCall = Pick<
  ServerUnaryCall<unknown, unknown>,
  "on" | "off" | "getDeadline" | "cancelled" | "metadata" | "request"
>;
type Partial_<Res> = { fromPartial(object: object): Res };

/** How much sooner, in ms, than here the deadline of a call may pass at its caller, who then cancels it. */
const deadlineSkew = 50;

/** Puts the contract's services on a gRPC server. Close the Server before the gRPC server's tryShutdown. */
export function register(server: Server, grpc: Pick<GrpcServer, "addService">): void {
  const backend = new Backend(server);
  const rpc = new Rpcs(server);
  const { feeds } = server;
  grpc.addService(BackendServiceService, {
    describe: rpc.unary<object, DescribeResponse>((request) => backend.describe(request)),
  });
  grpc.addService(tools.ToolServiceService, {
    listTools: rpc.unary<tools.ListToolsRequest, tools.ListToolsResponse>((request) => backend.listTools(request)),
    callTool: rpc.work("ToolService/CallTool", tools.CallToolResponse, (request: tools.CallToolRequest, sink) =>
      backend.callTool(request, sink),
    ),
    cancelCall: rpc.unary(
      (request: tools.CancelCallRequest, sink) => backend.cancelCall(request, sink),
      "ToolService/CancelCall",
    ),
    watchTools: rpc.watchList(feeds.tools, tools.WatchToolsResponse),
  });
  grpc.addService(prompts.PromptServiceService, {
    listPrompts: rpc.unary<prompts.ListPromptsRequest, prompts.ListPromptsResponse>((request) =>
      backend.listPrompts(request),
    ),
    getPrompt: rpc.work(
      "PromptService/GetPrompt",
      prompts.GetPromptResponse,
      (request: prompts.GetPromptRequest, sink) => backend.getPrompt(request, sink),
    ),
    completePrompt: rpc.unary(
      (request: prompts.CompletePromptRequest, sink) => backend.completePrompt(request, sink),
      "PromptService/CompletePrompt",
    ),
    watchPrompts: rpc.watchList(feeds.prompts, prompts.WatchPromptsResponse),
  });
  grpc.addService(resources.ResourceServiceService, {
    listResources: rpc.unary((request: resources.ListResourcesRequest, sink) => backend.listResources(request, sink)),
    listResourceTemplates: rpc.unary((request: resources.ListResourceTemplatesRequest) =>
      backend.listResourceTemplates(request),
    ),
    readResource: rpc.work(
      "ResourceService/ReadResource",
      resources.ReadResourceResponse,
      (request: resources.ReadResourceRequest, sink) => backend.readResource(request, sink),
    ),
    completeResourceTemplate: rpc.unary(
      (request: resources.CompleteResourceTemplateRequest, sink) => backend.completeResourceTemplate(request, sink),
      "ResourceService/CompleteResourceTemplate",
    ),
    watchResources: rpc.watchList(feeds.resources, resources.WatchResourcesResponse, true),
    watchResource: rpc.watchResource(),
    listSkills: rpc.unary((request: resources.ListSkillsRequest, sink) => backend.listSkills(request, sink)),
    getSkill: rpc.unary((request: resources.GetSkillRequest, sink) => backend.getSkill(request, sink)),
    listResourceDirectory: rpc.unary((request: resources.ListResourceDirectoryRequest, sink) =>
      backend.listResourceDirectory(request, sink),
    ),
  });
}

/** Makes RPCs of what a Server does. */
class Rpcs {
  readonly #identities: Identities | undefined;

  constructor(readonly server: Server) {
    this.#identities = server.options.identity && new Identities(server.options.identity);
  }

  /** An RPC without events. One that a caller waits for has a path, and is then a span, with an identity. */
  unary<Req, Res>(handle: (request: Req, sink: Sink) => Res | Promise<Res>, path?: string): Unary<Req, Res> {
    return (call, done) => {
      this.#served(call, path, (sink) => handle(call.request, sink)).then(
        (response) => done(null, response),
        (error: unknown) => done(this.#status(error)),
      );
    };
  }

  /** An RPC that streams events, then one outcome. */
  work<Req extends { context?: RequestContext }, Res>(
    path: string,
    response: Partial_<Res>,
    handle: (request: Req, sink: Sink) => Promise<Outcome<unknown>>,
  ): Streaming<Req, Res> {
    return (call) => {
      const writer = new EventWriter<Res>(call, (event) => response.fromPartial(event));
      const emit = (event: Event) => writer.emit(event);
      this.#served(call, path, (sink) => handle(call.request, { ...sink, emit })).then(
        ({ status, ...outcome }) => (status ? call.emit("error", status) : writer.end(response.fromPartial(outcome))),
        (error: unknown) => call.emit("error", this.#status(error)),
      );
    };
  }

  /** Runs a call, within the trace and with the identity of its caller if it has a path. */
  async #served<T>(call: AnyCall, path: string | undefined, handle: (sink: Sink) => T | Promise<T>): Promise<T> {
    const sink = this.#sinkOf(call);
    try {
      if (!path) return await handle(sink);
      const [service, method] = path.split("/") as [string, string];
      return await traced(`mcpedge.v1.${service}`, method, call.metadata, async () => {
        await this.#identify(call.request as { context?: RequestContext }, call.metadata);
        return handle(sink);
      });
    } finally {
      sink.done();
    }
  }

  /** The feed of a list. The providers among whose resources a list is are watched meanwhile. */
  watchList<Res>(feed: Feed, response: Partial_<Res>, provided = false): Streaming<unknown, Res> {
    return (call) => {
      const held = new Holding();
      const hold = async () => {
        if (provided) await held.take(this.server.providers.all(), () => true);
      };
      this.#watch(call, feed, "", held, {
        started: async () => {
          await hold();
          return response.fromPartial({ started: {} });
        },
        changed: async () => {
          await hold(); // a provider may be what is new
          return response.fromPartial({ changed: {} });
        },
      });
    };
  }

  /** The feed of one resource, or of all below a URI that ends with a slash. */
  watchResource(): Streaming<resources.WatchResourceRequest, resources.WatchResourceResponse> {
    return (call) => {
      const { uri } = call.request;
      const parent = uri.endsWith("/");
      if (!parent && !this.server.reader(uri)) {
        call.emit("error", { code: status.NOT_FOUND, details: `there is no resource ${JSON.stringify(uri)}` });
        return;
      }
      const held = new Holding();
      const fits = (prefix: string) => uri.startsWith(prefix) || (parent && prefix.startsWith(uri));
      this.#watch(call, this.server.feeds.updates, uri, held, {
        started: async () => {
          await held.take(this.server.providers.all(), fits);
          return resources.WatchResourceResponse.fromPartial({ started: {} });
        },
        changed: async (uri) => resources.WatchResourceResponse.fromPartial({ updated: { uri } }),
      });
    };
  }

  #watch<Res>(
    call: ServerWritableStream<unknown, Res>,
    feed: Feed,
    uri: string,
    held: Holding,
    events: { started: () => Promise<Res>; changed: (uri: string) => Promise<Res> },
  ): void {
    const { signal } = this.#sinkOf(call);
    const send = async (event: Res) => {
      if (call.write(event) || signal.aborted) return;
      await new Promise<void>((resolve) => {
        call.once("drain", resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    };
    const started = async () => send(await events.started());
    const changed = async (uri: string) => send(await events.changed(uri));
    feed
      .serve(uri, signal, started, changed)
      .then((ended) => {
        const details = ended === "left" ? "the watch was cancelled" : "the service is stopping; watch again elsewhere";
        call.emit("error", { code: ended === "left" ? status.CANCELLED : status.UNAVAILABLE, details });
      })
      .catch((error: unknown) => call.emit("error", this.#status(error)))
      .finally(() => held.release());
  }

  /** When a call is to end. After done its signal does not abort any more: gRPC says of every call that it is over. */
  #sinkOf(
    call: Pick<ServerUnaryCall<unknown, unknown>, "on" | "off" | "getDeadline" | "cancelled">,
  ): Sink & { done: () => void } {
    const until = Number(call.getDeadline());
    const deadline = Number.isFinite(until) ? new Date(until) : undefined;
    const controller = new AbortController();
    const abort = () => {
      const late = deadline !== undefined && deadline.getTime() <= Date.now() + deadlineSkew;
      const why = late ? "the deadline of the call is over" : "the call was cancelled";
      controller.abort(new StatusError(late ? status.DEADLINE_EXCEEDED : status.CANCELLED, why));
    };
    call.on("cancelled", abort);
    if (call.cancelled) abort();
    return { signal: controller.signal, deadline, done: () => void call.off("cancelled", abort) };
  }

  /** Replaces the principal by the one that was verified, if the server wants one. */
  async #identify(request: { context?: RequestContext }, metadata: Metadata): Promise<void> {
    if (!this.#identities) return;
    const principal = await this.#identities.verify(metadata, request.context?.callId ?? "");
    if (request.context) request.context.principal = principal;
  }

  /** What an RPC ends with that failed. What nobody foresaw is told to the log alone. */
  #status(error: unknown): Status {
    const known = statusOf(error);
    if (known) return { code: known.code, details: known.details };
    if (error instanceof Failure) return failureStatus(wireFailure(error));
    const stack = error instanceof Error ? error.stack : undefined;
    this.server.log.error("a call failed by a fault", { error: messageOf(error), stack });
    return { code: status.INTERNAL, details: "a fault of the service" };
  }
}
