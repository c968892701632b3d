import { Answers, wireDuration, wrongKey } from "./answers.js";
import { Asking, naming, Unwinding } from "./asked.js";
import {
  type Awaitable,
  encodedAs,
  encodeJson,
  encodeObject,
  Failure,
  isFault,
  messageOf,
  quote,
  statusOf,
} from "./failure.js";
import * as common from "./gen/mcpedge/v1/common.js";
import { InputRequest, InputRequired as WireInputRequired, InputResponse } from "./gen/mcpedge/v1/input.js";
import type { Checkpoint, Defer } from "./gen/mcpedge/v1/tools.js";
import {
  type ElicitResult,
  form,
  type FormSchema,
  formSchema,
  listRoots,
  openUrl,
  Question,
  type Root,
  sampling,
  Unanswered,
} from "./questions.js";
import { mustBeOneOf, mustKnow } from "./options.js";
import { capabilitiesOf, principalOf } from "./received.js";
import type { SamplingRequest, SamplingResult } from "./sampling.js";
import type { Infer } from "./schema.js";
import type { ClientCapabilities, Implementation, Principal, Replayed } from "./types.js";

/** How often one round may ask one question that has an answer: a loop that asks until it likes the answer would not end. */
const maxRepeats = 1000;

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

/** The severity of a log message, by RFC 5424. MCP: LoggingLevel. */
export type LogLevel = (typeof levels)[number];

/** An event of a round before its outcome. */
export type Event =
  { progress: common.Progress } | { log: common.LogMessage } | { defer: Defer } | { checkpoint: Checkpoint };

/** The destination of a round's events, and its deadline. */
export interface Sink {
  /** Undefined for a completion, which has no events. */
  emit?: (event: Event) => void;
  signal: AbortSignal;
  deadline?: Date;
}

/**
 * An outcome for handlers that manage state and answers themselves: throwing it ends the round. Handlers that ask do
 * not need it. MCP: InputRequiredResult.
 */
export class InputRequired extends Error {
  override name = "InputRequired";
  constructor(
    readonly options: {
      /** The questions, at most 16, which are sent together. In the next round call.answer returns their answers. */
      questions?: Question<unknown>[];
      /** The state that call.state returns in the next round, at most 64 KiB; undefined keeps that of call.setState. */
      state?: Uint8Array;
      /** The delay before the next round without questions, in ms, at most an hour. 0 means soon. */
      retryAfter?: number;
      /**
       * Allows the edge to retry the next round with the state after the loss of a replica, whatever the tool's hints
       * are.
       */
      repeatable?: boolean;
    },
  ) {
    super(`input required: ${options.questions?.length ?? 0} questions`);
    mustKnow("InputRequired", options, { questions: true, state: true, retryAfter: true, repeatable: true });
  }
}

/** The answers to several questions, in their order. */
export type AnswersOf<Q extends readonly Question<any>[]> = {
  [I in keyof Q]: Q[I] extends Question<infer T> ? T : never;
};

/**
 * One round of a tool call, a read or a prompt: the request, and the way to send events to the client while the handler
 * runs. Events after the handler has returned are dropped.
 *
 * A handler that asks runs from its top in each round. A question with an answer returns it; the first one without an
 * answer ends the handler, by an error that it must not catch. The client is then asked, and the handler runs again.
 * Answers are kept in all later rounds; a question is repeated if its answer is invalid. So:
 *   - do nothing that must not happen twice before the last question is answered, or do it in `once`;
 *   - ask in the same order under the same keys in every round.
 */
export class Call {
  /** Aborted when the client cancels, at the deadline, and after the grace of a service that stops. */
  readonly signal: AbortSignal;
  /** The deadline of the call; undefined if there is none. */
  readonly deadline: Date | undefined;

  /**
   * The id of the call: random, at most 64 characters, equal in all rounds and attempts, so it can be an idempotency
   * key.
   */
  readonly id: string;
  /** 1 for the first run of a round, and one more if it is retried because a replica was lost. */
  readonly attempt: number;
  /** 1 for the first round, and one more after each set of answers. */
  readonly round: number;
  /** The name and version that the client reports, for display only. */
  readonly clientInfo: Implementation | undefined;

  readonly #context: common.RequestContext;
  #principal: Principal | undefined;
  #capabilities: ClientCapabilities | undefined;
  readonly #emit: Sink["emit"];
  readonly #answers: Answers;
  readonly #asking = new Asking();
  /** The keys of `once` whose values this round has returned, or is making. */
  readonly #stepped = new Set<string>();
  /** The questions of this round by their keys, and how often each was asked. */
  readonly #asked = new Map<string, { request: InputRequest; times: number }>();
  /** The first mistake of the handler with a key, which ends the round whatever the handler catches. */
  #mistake: Failure | undefined;
  #over = false;
  #progress = -Infinity;
  #deferred = false;
  /** @internal The values of setMeta and setCache. */
  readonly extras: { metaJson: string; cache?: common.CacheHint } = { metaJson: "" };

  /** @internal */
  constructor(context = common.RequestContext.create(), sink: Sink, answers?: InputResponse[], state?: Buffer) {
    this.#context = context;
    this.#emit = sink.emit;
    ({ signal: this.signal, deadline: this.deadline } = sink);
    ({ callId: this.id, attempt: this.attempt, round: this.round, clientInfo: this.clientInfo } = context);
    this.#answers = new Answers(answers, state);
  }

  /** The caller. An empty subject means anonymous. */
  get principal(): Principal {
    return (this.#principal ??= principalOf(this.#context.principal));
  }

  /** The questions that the client supports. No check is needed before asking; check it to choose another way. */
  get clientCapabilities(): ClientCapabilities {
    return (this.#capabilities ??= capabilitiesOf(this.#context.clientCapabilities));
  }

  /**
   * A claim of the caller's access token; undefined if the token has no such claim, or if the edge's setting `claims`
   * of this backend does not name it.
   */
  claim(name: string): unknown {
    const { claims } = this.principal;
    return Object.hasOwn(claims, name) ? claims[name] : undefined;
  }

  /** `_meta` of the client's request. */
  get meta(): Record<string, unknown> {
    return JSON.parse(this.#context.metaJson || "{}");
  }

  /** Sets `_meta` of the result; that of a result has precedence. */
  setMeta(meta: object): void {
    this.extras.metaJson = encodeObject("_meta", meta);
  }

  /**
   * Sets how long, in ms, the client may cache the contents, and whether callers may share the cache entry. For reads
   * only.
   */
  setCache(ttl: number, options: { shared?: boolean } = {}): void {
    mustKnow("setCache", options, { shared: true });
    this.extras.cache = cacheHint(ttl, options.shared);
  }

  /** The state of setState or of a checkpoint in an earlier round or run; undefined in the first. */
  get state(): Uint8Array | undefined {
    return this.#answers.state;
  }

  /** @internal The state of a call between two rounds, for the test kit. */
  static memoryOf(state: Uint8Array): Buffer {
    return new Answers().memory(true, state);
  }

  /** Stores bytes for the next round, if there is one. State and answers together are limited to 64 KiB. */
  setState(state: Uint8Array): void {
    this.#answers.state = state;
  }

  /**
   * Runs fn in one round of the call, and returns its value, which must be JSON, in later rounds: for actions and
   * choices that must not be repeated in each round. It is what JSON makes of the value, in the first round, too: of a
   * Date its text. The key is unique among those of `once` in the call: in a loop it has the id of the item. The value
   * is stored with the answers when the round ends with questions; a round that is retried because a replica was lost
   * runs fn again.
   */
  once<T>(key: string, fn: () => Awaitable<T>): Promise<Replayed<T>> {
    const owner = `once ${JSON.stringify(key)}`;
    return this.#asking.begin(owner, async () => {
      if (typeof fn !== "function") throw new TypeError(`${owner} takes a function: write call.once("k", () => …)`);
      this.#mayAsk();
      if (this.#answers.missing.size > 0) throw new Unwinding();
      const wrong = wrongKey("once", key);
      if (wrong) throw this.#mistaken(wrong);
      if (this.#stepped.has(key)) {
        const twice = "came twice in one round, where the second has the value of the first";
        throw this.#mistaken(`${owner} ${twice}; give each its own key, as \`order-${"$"}{id}\``);
      }
      this.#stepped.add(key);
      return JSON.parse(this.#answers.remembered(key) ?? (await this.#remember(owner, key, fn))) as Replayed<T>;
    });
  }

  /** Runs fn, and stores its value. An error of fn is not stored: fn may run again. */
  async #remember(owner: string, key: string, fn: () => unknown): Promise<string> {
    let value: unknown;
    try {
      value = (await fn()) ?? null;
    } catch (error) {
      this.#stepped.delete(key);
      throw error;
    }
    let text: string;
    try {
      text = encodedAs(owner, value);
    } catch (error) {
      throw this.#mistaken(messageOf(error));
    }
    this.#answers.remember(key, text);
    return text;
  }

  /** Whether the client receives progress. Check it if progress is expensive to compute. */
  get wantsProgress(): boolean {
    return this.#emit !== undefined && this.#context.progressWanted;
  }

  /** Whether the client wants messages of this level. */
  wantsLog(level: LogLevel): boolean {
    mustBeOneOf("the level of a log message", level, levels);
    const wanted = this.#context.logLevel;
    return this.#emit !== undefined && wanted > 0 && levelNumber(level) >= wanted;
  }

  /**
   * Sends progress to the client: progress out of total (unknown without), with a message for people. Progress that does
   * not rise or was not requested is dropped; of the pending ones for a slow reader, only the last is kept.
   * MCP: notifications/progress.
   */
  progress(progress: number, total?: number, message = ""): void {
    if (typeof progress !== "number") throw new TypeError("progress is a number: write call.progress(1, 2)");
    if (!this.wantsProgress || this.#over || !(progress > this.#progress)) return;
    this.#progress = progress;
    this.#emit?.({ progress: { progress, total, message, metaJson: "" } });
  }

  /**
   * Sends the client a log message: any JSON value, under a logger's name. It must not contain secrets. MCP:
   * notifications/message.
   */
  log(level: LogLevel, data: unknown, logger = ""): void {
    if (!this.wantsLog(level) || this.#over) return;
    let dataJson: string;
    try {
      dataJson = encodeJson(data);
    } catch (error) {
      dataJson = encodeJson(`log data that is not JSON: ${messageOf(error)}`);
    }
    this.#emit?.({ log: { level: levelNumber(level), logger, dataJson, metaJson: "" } });
  }

  /** The id of the call's task; undefined if the call is not a task, or not yet. */
  get taskId(): string | undefined {
    return this.#context.task?.id || undefined;
  }

  /**
   * Makes the call a task now, if it may become one and is not one yet. A task does not end when its client disconnects.
   */
  defer(): void {
    if (!this.#context.task || this.taskId || this.#deferred || this.#over) return;
    this.#deferred = true;
    this.#emit?.({ defer: {} });
  }

  /**
   * Stores a checkpoint: if the edge's replica that runs the call is lost, the handler runs again from its top, with
   * this in `state` and with the answers so far. Above 64 KiB it throws, and stores nothing. It does nothing with an
   * edge that does not support checkpoints.
   */
  checkpoint(state: Uint8Array): void {
    if (!this.#context.checkpoints || this.#over) return;
    const memory = this.#answers.memory(true, state);
    this.#answers.state = state;
    this.#emit?.({ checkpoint: { state: memory } });
  }

  /** Asks the user by a form. Rejects with Declined or Dismissed, which are Unanswered. MCP: elicitation/create in form mode. */
  ask<S extends FormSchema>(key: string, message: string, schema: S): Promise<Infer<S>> {
    return this.answer(form(key, message, schema));
  }

  /** Asks the user by a flat JSON Schema, of which a text is sent unchanged. */
  askForm(key: string, message: string, schema: string | object): Promise<ElicitResult> {
    return this.answer(formSchema(key, message, schema));
  }

  /**
   * Asks the user to open an https: URL, for data that must not pass through the client: logins, secrets, payments.
   * MCP: elicitation/create in URL mode.
   */
  askUrl(key: string, message: string, url: string): Promise<ElicitResult> {
    return this.answer(openUrl(key, message, url));
  }

  /** Requests a completion from the client's model. MCP: sampling/createMessage. */
  sample(key: string, request: SamplingRequest): Promise<SamplingResult> {
    return this.answer(sampling(key, request));
  }

  /** Requests the directories and files that the client works on. MCP: roots/list. */
  roots(key: string): Promise<Root[]> {
    return this.answer(listRoots(key));
  }

  /** Asks one question. */
  answer<T>(question: Question<T>): Promise<T> {
    return this.#asking.begin(naming([question.request.key]), async () => (await this.#askAll([question]))[0]!);
  }

  /** Asks several questions in one round, at most 16, and returns their answers in order. */
  askAll<const Q extends readonly Question<any>[]>(...questions: Q): Promise<AnswersOf<Q>> {
    const keys = questions.map((q) => q.request.key);
    return this.#asking.begin(naming(keys), () => this.#askAll(questions) as Promise<AnswersOf<Q>>);
  }

  async #askAll<T>(questions: readonly Question<T>[]): Promise<T[]> {
    this.#mayAsk();
    for (const { request } of questions) this.#mustBeOwn(request);
    const found = await Promise.all(questions.map((q) => this.#answers.find(q.request.key, (r) => q.fits(r))));
    found.forEach((response, i) => {
      const { request } = questions[i]!;
      if (!response) this.#answers.missing.set(request.key, request);
    });
    if (this.#answers.missing.size > 0) throw new Unwinding();
    return Promise.all(questions.map((q, i) => q.parse(found[i]!)));
  }

  /** Throws if another question of this round has the same key, as one answer would be that of both, or if it was asked too often. */
  #mustBeOwn(request: InputRequest): void {
    const asked = this.#asked.get(request.key) ?? { request, times: 0 };
    this.#asked.set(request.key, asked);
    const key = quote(request.key.slice(0, 40));
    if (asked.request !== request) {
      const [one, other] = [asked.request, request].map((q) =>
        InputRequest.encode(InputRequest.fromPartial(q)).finish(),
      );
      if (Buffer.compare(one!, other!) !== 0) {
        throw this.#mistaken(`two different questions have the key ${key}; give each its own, as \`sure-${"$"}{id}\``);
      }
    }
    if (++asked.times > maxRepeats) {
      const same = `one round asked the question ${key} ${maxRepeats} times, and its answer stays the same`;
      throw this.#mistaken(`${same}; ask again under another key, as \`cups-${"$"}{attempt}\``);
    }
  }

  /** The failure of a mistake of the handler with a key, which ends the round. */
  #mistaken(what: string): Failure {
    return (this.#mistake ??= new Failure("Internal", what));
  }

  #mayAsk(): void {
    if (!this.#emit) throw new Failure("Internal", "a completion cannot ask the client");
  }

  /**
   * @internal end ends the events, and returns the questions with which the round ends; undefined: it does not end with
   * questions. Throws a fault of the handler, unless the handler was ended by a question, and a Failure if the handler made a
   * mistake with a key, or returned without waiting for an answer.
   */
  end(ended: PromiseSettledResult<unknown>, maskErrors = false): WireInputRequired | undefined {
    this.#over = true;
    this.#asking.end();
    const thrown: unknown = ended.status === "rejected" ? ended.reason : undefined;
    const unwound = this.#asking.unwound; // an error that is thrown then comes from a catch of the unwinding
    if (this.#mistake && (ended.status === "fulfilled" || !isFault(thrown))) throw this.#mistake;
    const hidden = isFault(thrown) || (maskErrors && isPlain(thrown));
    if (ended.status === "rejected" && hidden && !this.signal.aborted && !unwound) throw thrown;
    if (unwound && this.#answers.missing.size > 0) {
      return this.#answers.required([...this.#answers.missing.values()]);
    }
    if (ended.status === "fulfilled") this.#asking.mustBeAwaited();
    if (!(thrown instanceof InputRequired)) return undefined;
    const { questions = [], state, ...rest } = thrown.options;
    if (state) this.#answers.state = state;
    const requests = questions.map((q) => q.request);
    return this.#answers.required(requests, rest);
  }
}

// Methods are bound where they are read, so that handlers can take them apart: (args, { ask, log }) => ….
for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(Call.prototype))) {
  if (typeof value !== "function" || name === "constructor") continue;
  Object.defineProperty(Call.prototype, name, {
    configurable: true,
    get(this: Call) {
      return value.bind(this) as unknown;
    },
  });
}

/** isPlain reports whether an error has no reason that may be shown where errors are masked. */
function isPlain(thrown: unknown): boolean {
  const reasoned = thrown instanceof Failure || thrown instanceof Unanswered || thrown instanceof InputRequired;
  return !reasoned && !statusOf(thrown);
}

/** Members of the official SDK's `extra` that a Call does not have, and their replacements. */
const foreign = {
  authInfo: "call.principal and call.claim",
  requestId: "call.id",
  sessionId: "call.id, which is that of one call: there are no sessions here",
  requestInfo: "call.clientInfo and call.meta: requests are no HTTP here",
  _meta: "call.meta",
  taskStore: "task, an option of the tool",
  sendNotification: "call.progress or call.log, and server.resourceUpdated",
  sendRequest: "call.ask, call.sample or call.roots",
  closeSSEStream: "nothing: the edge does it",
  mcpReq: "call.signal, call.id, call.log, call.ask and call.sample",
  http: "call.principal and call.claim",
};

for (const [name, instead] of Object.entries(foreign)) {
  Object.defineProperty(Call.prototype, name, {
    get() {
      throw new TypeError(`a call has no ${name}: write ${instead}`);
    },
  });
}

/** levelNumber returns a level as the contract has it. */
export const levelNumber = (level: LogLevel): common.LogLevel => levels.indexOf(level) + 1;

/** logLevelOf converts a level of the contract. */
export const logLevelOf = (level: common.LogLevel): LogLevel => levels[level - 1] ?? "info";

export function cacheHint(ttl: number, shared = false): common.CacheHint {
  const scope = shared ? common.CacheScope.CACHE_SCOPE_PUBLIC : common.CacheScope.CACHE_SCOPE_PRIVATE;
  return { ttl: wireDuration(ttl), scope };
}
