import { Call, type Event, logLevelOf, type LogLevel, levelNumber } from "./call.js";
import type { Failure, Status } from "./failure.js";
import * as common from "./gen/mcpedge/v1/common.js";
import type { DeepPartial, MessageFns } from "./gen/mcpedge/v1/content.js";
import type { InputResponse } from "./gen/mcpedge/v1/input.js";
import * as prompts from "./gen/mcpedge/v1/prompts.js";
import * as resources from "./gen/mcpedge/v1/resources.js";
import * as tools from "./gen/mcpedge/v1/tools.js";
import { mustKnow, type Names } from "./options.js";
import {
  contentOf,
  contentsOf,
  failureOf,
  parsedMeta,
  type ReceivedContent,
  type ReceivedContents,
  roleOf,
} from "./received.js";
import type { Work } from "./registry.js";
import { type Outcome, Runner, type WorkRequest } from "./run.js";
import { type Answer, type Asked, askedOf, wireAnswer } from "./scripted.js";
import type { Server } from "./server.js";
import type { Bytes, ClientCapabilities, Implementation, Principal, Role } from "./types.js";

export { accepted, type Answer, type Asked, declined, dismissed, roots, sampled } from "./scripted.js";
export type { ReceivedContent, ReceivedContents } from "./received.js";

/** The maximum number of rounds of a call. */
const maxRounds = 32;

/** A tool's result, as a client receives it. */
export interface ToolResult {
  content: ReceivedContent[];
  structuredContent?: any;
  isError: boolean;
  _meta?: Record<string, unknown>;
}

/** The result of a read as a client gets it. */
export interface ReadResult {
  contents: ReceivedContents[];
  _meta?: Record<string, unknown>;
  /** How long, in ms, the client may cache it, and whether callers may share the cache entry. */
  cache?: { ttl: number; shared: boolean };
}

/** A prompt as a client gets it. */
export interface PromptResult {
  messages: { role: Role; content: ReceivedContent }[];
  description?: string;
  _meta?: Record<string, unknown>;
}

/** The end of a call, with its events. Exactly one of result, inputRequired, failure and status is set. */
export interface Called<R> {
  result?: R;
  /** The call waits for answers or, without questions, for its next round. */
  inputRequired?: { questions: Asked[]; state: Bytes; retryAfter?: number; repeatable: boolean };
  /** The client gets a protocol error. */
  failure?: Failure;
  /** The handler ended with the error of a gRPC client. */
  status?: Status;
  /** All text of the result, a line for each piece, or the message of a failure that the model sees; empty if there is neither. */
  text: string;
  /**
   * The tool failed in a way that the model sees: by a result with isError, or by a failure InvalidArgument or FailedPrecondition, of
   * which the edge makes one.
   */
  isError: boolean;
  progress: { progress: number; total?: number; message: string }[];
  logs: { level: LogLevel; data: any; logger: string }[];
  checkpoints: Bytes[];
  deferred: boolean;
  /** How often the handler ran. */
  rounds: number;
}

export interface TestOptions {
  /** Answers by the key of the question, or a function. A question without an answer ends the call with inputRequired. */
  answers?: Record<string, Answer> | ((asked: Asked) => Answer | undefined);
  /** The caller. Absent means anonymous. */
  principal?: Partial<Principal>;
  clientInfo?: Implementation;
  /** The client's capabilities. Absent means that it supports every question. */
  clientCapabilities?: Partial<ClientCapabilities>;
  /** The lowest level of log messages that the client wants; "off" disables them. Absent means all. */
  logLevel?: LogLevel | "off";
  /** `_meta` of the request. */
  meta?: object;
  /** The call may become a task. */
  task?: boolean;
  signal?: AbortSignal;
}

const known: Names<TestOptions> = {
  answers: true,
  principal: true,
  clientInfo: true,
  clientCapabilities: true,
  logLevel: true,
  meta: true,
  task: true,
  signal: true,
};

const caller: Names<Principal> = {
  subject: true,
  issuer: true,
  scopes: true,
  roles: true,
  clientId: true,
  actor: true,
  subjectIsClient: true,
  claims: true,
};
const capabilities: Names<ClientCapabilities> = { elicitation: true, sampling: true, roots: true, extensions: true };

/**
 * Calls a Server in process as the edge does, with as many rounds as a handler requires. Messages are encoded and
 * decoded. Options of a call replace those of the client.
 */
export class TestClient {
  readonly #runner: Runner;
  readonly #options: TestOptions;

  constructor(
    readonly server: Server,
    options: TestOptions = {},
  ) {
    mustKnow("a TestClient", options, known);
    this.#options = options;
    this.#runner = new Runner(server.log, server.options.maskErrors);
  }

  async callTool(name: string, args: object = {}, options: TestOptions = {}): Promise<Called<ToolResult>> {
    const request = { name, argumentsJson: JSON.stringify(args) };
    const find = () => this.server.tools.find(name);
    const called = await this.#rounds(`tool ${name}`, tools.CallToolRequest, request, options, find);
    const out = withResult(called, (r: tools.CallToolResult) => ({
      content: r.content.map(contentOf),
      ...(r.structuredContentJson && { structuredContent: JSON.parse(r.structuredContentJson) }),
      isError: r.isError,
      ...meta(r.metaJson),
    }));
    const forModel = ["InvalidArgument", "FailedPrecondition"].includes(out.failure?.reason ?? "");
    return forModel ? { ...out, isError: true, text: out.failure!.message } : out;
  }

  async readResource(uri: string, options: TestOptions = {}): Promise<Called<ReadResult>> {
    const find = () => this.server.readable(uri);
    const called = await this.#rounds(`read of ${uri}`, resources.ReadResourceRequest, { uri }, options, find);
    return withResult(called, (r: resources.ReadResourceResult) => ({
      contents: r.contents.map(contentsOf),
      ...meta(r.metaJson),
      ...(r.cache && {
        cache: { ttl: milliseconds(r.cache.ttl), shared: r.cache.scope === common.CacheScope.CACHE_SCOPE_PUBLIC },
      }),
    }));
  }

  async getPrompt(
    name: string,
    args: Record<string, string> = {},
    options: TestOptions = {},
  ): Promise<Called<PromptResult>> {
    const find = () => this.server.prompts.find(name);
    const called = await this.#rounds(
      `prompt ${name}`,
      prompts.GetPromptRequest,
      { name, arguments: args },
      options,
      find,
    );
    return withResult(called, (r: prompts.GetPromptResult) => ({
      messages: r.messages.map((m) => ({ role: roleOf(m.role), content: contentOf(m.content!) })),
      ...(r.description && { description: r.description }),
      ...meta(r.metaJson),
    }));
  }

  /** The suggestions for an argument of a prompt, or a variable of a resource template. chosen has the other arguments. */
  async complete(
    of: string,
    argument: string,
    value: string,
    chosen: Record<string, string> = {},
    options: TestOptions = {},
  ): Promise<string[]> {
    const found = this.server.prompts.get(of) ?? this.server.templates.find(of);
    const { context, signal } = this.#sent(options);
    const request = { argumentName: argument, argumentValue: value, contextArguments: chosen, context };
    return (await this.#runner.complete(found, request, { signal })).values;
  }

  /** Cancels a task of a tool between two rounds: onCancel of the tool gets a Call with this state. */
  async cancel(tool: string, state?: Bytes, options: TestOptions = {}): Promise<void> {
    const onCancel = this.server.cancels.get(tool);
    if (!onCancel) throw new TypeError(`tool ${JSON.stringify(tool)} has no onCancel`);
    const { context, signal } = this.#sent(options);
    const memory = state && Call.memoryOf(state);
    await this.#runner.unary(`cancellation of ${tool}`, { context, state: memory }, { signal }, onCancel);
  }

  /** Returns the context of a call, from the options of the client and of the call. */
  #sent(options: TestOptions) {
    mustKnow("a call of a TestClient", options, known);
    const given = { ...this.#options, ...options };
    const { signal = new AbortController().signal, principal, clientCapabilities, logLevel = "debug" } = given;
    mustKnow("the principal of a call", principal ?? {}, caller);
    mustKnow("the clientCapabilities of a call", clientCapabilities ?? {}, capabilities);
    const { claims = {}, ...said } = principal ?? {};
    const claimsJson = Object.fromEntries(Object.entries(claims).map(([name, v]) => [name, JSON.stringify(v)]));
    const { extensions = {}, ...asking } = clientCapabilities ?? everything;
    const extensionsJson = Object.fromEntries(Object.entries(extensions).map(([id, v]) => [id, JSON.stringify(v)]));
    const context = common.RequestContext.fromPartial({
      callId: "test",
      attempt: 1,
      progressWanted: true,
      logLevel: logLevel === "off" ? 0 : levelNumber(logLevel),
      checkpoints: true,
      principal: { ...said, claimsJson },
      clientInfo: given.clientInfo,
      clientCapabilities: { ...asking, extensionsJson },
      metaJson: given.meta && JSON.stringify(given.meta),
      task: given.task ? {} : undefined,
    });
    return { answers: given.answers, context, signal };
  }

  /** Runs one call to its end; each round has only the latest answers, as with the edge. */
  async #rounds<Req extends WorkRequest, R extends { metaJson: string }>(
    what: string,
    type: MessageFns<Req>,
    members: object,
    options: TestOptions,
    find: () => Work<never, R>,
  ): Promise<Ended<R>> {
    const { answers, context, signal } = this.#sent(options);
    const events: Event[] = [];
    let inputResponses: InputResponse[] = [];
    let state: Buffer = Buffer.alloc(0);
    for (let rounds = 1; rounds <= maxRounds; rounds++) {
      const whole = { ...members, context: { ...context, round: rounds }, inputResponses, state };
      const request = type.decode(type.encode(type.fromPartial(whole as DeepPartial<Req>)).finish());
      const emit = (event: Event) => void events.push(event);
      const outcome = await this.#runner.work(what, request, { emit, signal }, find);
      const required = outcome.inputRequired;
      if (!required) return { outcome, events, rounds };
      inputResponses = required.requests.map(askedOf).flatMap((asked) => {
        const answer = typeof answers === "function" ? answers(asked) : answers?.[asked.key];
        return answer ? [wireAnswer(asked, answer)] : [];
      });
      if (required.requests.length > 0 && inputResponses.length === 0) return { outcome, events, rounds };
      state = required.state;
    }
    const given = inputResponses.map((r) => `${r.key}: ${r.elicit?.contentJson ?? JSON.stringify(r)}`);
    throw new Error(
      `the call still asks after ${maxRounds} rounds, with the answers ${given.join("; ")}: a question is repeated if its answer ` +
        "does not fit. The answer to a form is an object with the names of its members",
    );
  }
}

/** The end of a call in messages of the contract. */
interface Ended<R> {
  outcome: Outcome<R>;
  events: Event[];
  rounds: number;
}

const everything: Partial<ClientCapabilities> = {
  elicitation: { form: true, url: true },
  sampling: { context: true, tools: true },
  roots: { listChanged: false },
};

/** The part of the results that has text. */
interface Texts {
  content?: ReceivedContent[];
  contents?: ReceivedContents[];
  messages?: { content: ReceivedContent }[];
  isError?: boolean;
}

/** withResult converts the end of a call. */
function withResult<W, R extends object>({ outcome, events, rounds }: Ended<W>, convert: (result: W) => R): Called<R> {
  const { inputRequired, failure, status } = outcome;
  const result = outcome.result && convert(outcome.result);
  const { content = [], contents = [], messages = [], isError = false }: Texts = result ?? {};
  const pieces = [...content, ...contents, ...messages.map((m) => m.content)];
  return {
    ...(result && { result }),
    ...(inputRequired && {
      inputRequired: {
        questions: inputRequired.requests.map(askedOf),
        state: inputRequired.state,
        repeatable: inputRequired.repeatable,
        ...(inputRequired.retryAfter && { retryAfter: milliseconds(inputRequired.retryAfter) }),
      },
    }),
    ...(failure && { failure: failureOf(failure) }),
    ...(status && { status }),
    text: pieces.flatMap((p) => (p.text === undefined ? [] : [p.text])).join("\n"),
    isError,
    ...eventsOf(events),
    rounds,
  };
}

function eventsOf(events: Event[]) {
  const of = <K extends string>(kind: K) =>
    events.flatMap((e) => (kind in e ? [(e as Record<K, unknown>)[kind]] : [])) as Extract<Event, Record<K, any>>[K &
      keyof Extract<Event, Record<K, any>>][];
  return {
    progress: of("progress").map(({ progress, total, message }) => ({ progress, total, message })),
    logs: of("log").map(({ level, dataJson, logger }) => ({
      level: logLevelOf(level),
      data: JSON.parse(dataJson),
      logger,
    })),
    checkpoints: of("checkpoint").map(({ state }) => state),
    deferred: of("defer").length > 0,
  };
}

function meta(metaJson: string): { _meta?: Record<string, unknown> } {
  const _meta = parsedMeta(metaJson);
  return _meta ? { _meta } : {};
}

function milliseconds(d: { seconds: bigint; nanos: number } | undefined): number {
  return d ? Number(d.seconds) * 1000 + d.nanos / 1e6 : 0;
}
