import { Answers, wireDuration } from "./answers.js";
import { Asking, naming, Unwinding } from "./asked.js";
import { type Awaitable, encodeJson, encodeObject, Failure, isFault, messageOf } from "./failure.js";
import * as common from "./gen/mcpedge/v1/common.js";
import { InputRequired as WireInputRequired, InputResponse } from "./gen/mcpedge/v1/input.js";
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
} from "./questions.js";
import { mustBeOneOf, mustKnow } from "./options.js";
import type { SamplingRequest, SamplingResult } from "./sampling.js";
import type { Infer } from "./schema.js";

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

/** The severity of a log message, by RFC 5424. MCP: LoggingLevel. */
export type LogLevel = (typeof levels)[number];

/** What a round tells before its outcome. */
export type Event =
  { progress: common.Progress } | { log: common.LogMessage } | { defer: Defer } | { checkpoint: Checkpoint };

/** Where the events of a round go, and when it is to end. */
export interface Sink {
  /** Undefined: a completion, which has no events. */
  emit?: (event: Event) => void;
  signal: AbortSignal;
  deadline?: Date;
}

/**
 * An outcome for handlers that keep their own account of the rounds: thrown, it ends the round as it says. Handlers that ask
 * never need it. MCP: InputRequiredResult.
 */
export class InputRequired extends Error {
  override name = "InputRequired";
  constructor(
    readonly options: {
      /** Asked all at once, at most 16. The next round has their answers: call.answer gives them. */
      questions?: Question<unknown>[];
      /** Comes back in call.state; undefined keeps that of call.setState. At most 64 KiB. */
      state?: Uint8Array;
      /** With no questions: when to call again, in ms, at most an hour. 0: soon. */
      retryAfter?: number;
      /** The next round may be run again with the state when the edge's replica is lost, whatever the tool says of itself. */
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
 * One round of a call of a tool, of a read or of a prompt: what the handler may know of the request, and its way to the client
 * while it runs. Events after the handler has returned are dropped.
 *
 * A handler that asks is run from its top in each round. A question whose answer has come returns it; the first one without an
 * answer ends the handler, by an error that it must not mind. The client is then asked, and the handler runs again. Answers
 * survive all later rounds; one that does not fit its question is asked for again. So:
 *   - do nothing that must not happen twice before the last question is answered, or do it in `once`;
 *   - ask in the same order under the same keys in every round.
 */
export class Call {
  /** Aborted when the client cancels, at the deadline, and when the grace of a service that stops is over. */
  readonly signal: AbortSignal;
  /** When the call is to be over; undefined: never. */
  readonly deadline: Date | undefined;

  /** Random, at most 64 characters, and the same over the rounds and re-runs of one call: a key for idempotency. */
  readonly id: string;
  /** 1 for the first run of a round, and one more when it is run again because a replica was lost. */
  readonly attempt: number;
  /** 1 at first, and one more each time answers came. */
  readonly round: number;
  /** Who is calling. An empty subject is anonymous. */
  readonly principal: common.Principal;
  /** The client's own word of what it is, for display only. */
  readonly clientInfo: common.Implementation | undefined;
  /** What the client can be asked. No check is needed before asking; check to take another way instead. */
  readonly clientCapabilities: common.ClientCapabilities;

  readonly #context: common.RequestContext;
  readonly #emit: Sink["emit"];
  readonly #answers: Answers;
  readonly #asking = new Asking();
  readonly #once = new Map<string, Promise<unknown>>();
  #over = false;
  #progress = -Infinity;
  #deferred = false;
  /** @internal What setMeta and setCache left. */
  readonly extras: { metaJson: string; cache?: common.CacheHint } = { metaJson: "" };

  /** @internal */
  constructor(context = common.RequestContext.create(), sink: Sink, answers?: InputResponse[], state?: Buffer) {
    this.#context = context;
    this.#emit = sink.emit;
    ({ signal: this.signal, deadline: this.deadline } = sink);
    ({ callId: this.id, attempt: this.attempt, round: this.round, clientInfo: this.clientInfo } = context);
    this.principal = context.principal ?? common.Principal.create();
    this.clientCapabilities = context.clientCapabilities ?? common.ClientCapabilities.create();
    this.#answers = new Answers(answers, state);
  }

  /**
   * A claim of the caller's access token; undefined where the token has none, or the edge's setting `claims` of this backend
   * does not name it.
   */
  claim(name: string): unknown {
    const { claimsJson } = this.principal;
    return Object.hasOwn(claimsJson, name) ? JSON.parse(claimsJson[name]!) : undefined;
  }

  /** `_meta` of the client's request. */
  get meta(): Record<string, unknown> {
    return JSON.parse(this.#context.metaJson || "{}");
  }

  /** Sets `_meta` of the result; a result's own wins. */
  setMeta(meta: object): void {
    this.extras.metaJson = encodeObject("_meta", meta);
  }

  /** Says how long, in ms, the client may keep what was read, and whether all callers may share it. Only for reads. */
  setCache(ttl: number, options: { shared?: boolean } = {}): void {
    this.extras.cache = cacheHint(ttl, options.shared);
  }

  /** What setState or a checkpoint kept in an earlier round or run; undefined in the first. */
  get state(): Uint8Array | undefined {
    return this.#answers.state;
  }

  /** Keeps bytes for the next round, if there is one. With the answers they are bounded to 64 KiB. */
  setState(state: Uint8Array): void {
    this.#answers.state = state;
  }

  /**
   * Runs fn once in all rounds of the call, and gives its value, which is JSON, in the later ones: for what must not happen, or
   * be chosen, anew in each round. The value is kept with the answers when the round ends in questions; a round that is run
   * again because a replica was lost runs fn again.
   */
  once<T>(key: string, fn: () => Awaitable<T>): Promise<T> {
    return this.#asking.begin(`once ${JSON.stringify(key)}`, async () => {
      this.#mayAsk();
      if (this.#answers.missing.size > 0) throw new Unwinding();
      const kept = this.#answers.remembered(key);
      if (kept !== undefined) return JSON.parse(kept) as T;
      const running = this.#once.get(key) ?? this.#remember(key, fn);
      this.#once.set(key, running);
      return (await running) as T;
    });
  }

  async #remember(key: string, fn: () => unknown): Promise<unknown> {
    const text = encodeJson((await fn()) ?? null);
    this.#answers.remember(key, text);
    return JSON.parse(text);
  }

  /** Whether progress goes anywhere; for handlers whose count is dear. */
  get wantsProgress(): boolean {
    return this.#emit !== undefined && this.#context.progressWanted;
  }

  /** Whether the client wants messages of this level. */
  wantsLog(level: LogLevel): boolean {
    mustBeOneOf("the level of a log message", level, levels);
    const wanted = this.#context.logLevel;
    return this.#emit !== undefined && wanted > 0 && wireLevel(level) >= wanted;
  }

  /**
   * Tells the client how far the call is: progress out of total (unknown without), with a message for people. What does not
   * rise, and what nobody wants, is dropped, and so is all but the last of what a slow reader has not taken.
   * MCP: notifications/progress.
   */
  progress(progress: number, total?: number, message = ""): void {
    if (!this.wantsProgress || this.#over || !(progress > this.#progress)) return;
    this.#progress = progress;
    this.#emit?.({ progress: { progress, total, message, metaJson: "" } });
  }

  /** Sends the client a log message: any JSON value, under a logger's name. No secrets. MCP: notifications/message. */
  log(level: LogLevel, data: unknown, logger = ""): void {
    if (!this.wantsLog(level) || this.#over) return;
    let dataJson: string;
    try {
      dataJson = encodeJson(data);
    } catch (error) {
      dataJson = encodeJson(`log data that is not JSON: ${messageOf(error)}`);
    }
    this.#emit?.({ log: { level: wireLevel(level), logger, dataJson, metaJson: "" } });
  }

  /** The id of the task that the call is; undefined: it is none, or none yet. */
  get taskId(): string | undefined {
    return this.#context.task?.id || undefined;
  }

  /**
   * Makes the call a task now, if it may become one and is none yet. From then on the call is not ended by its client's
   * leaving.
   */
  defer(): void {
    if (!this.#context.task || this.taskId || this.#deferred || this.#over) return;
    this.#deferred = true;
    this.#emit?.({ defer: {} });
  }

  /**
   * Says that the handler can go on from here: should the replica of the edge that runs the call be lost, the handler runs
   * again from its top, with this in `state` and with the answers that it has. Beyond 64 KiB it throws, and changes nothing.
   * With an edge that takes no checkpoints it does nothing.
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

  /** Asks the user by a flat JSON Schema, sent verbatim. */
  askForm(key: string, message: string, schema: string): Promise<ElicitResult> {
    return this.answer(formSchema(key, message, schema));
  }

  /**
   * Asks the user to open an https: URL, for what must not pass through the client: logins, secrets, payments.
   * MCP: elicitation/create in URL mode.
   */
  askUrl(key: string, message: string, url: string): Promise<ElicitResult> {
    return this.answer(openUrl(key, message, url));
  }

  /** Asks the client's model. MCP: sampling/createMessage. */
  sample(key: string, request: SamplingRequest): Promise<SamplingResult> {
    return this.answer(sampling(key, request));
  }

  /** Asks for the directories and files the client works on. MCP: roots/list. */
  roots(key: string): Promise<Root[]> {
    return this.answer(listRoots(key));
  }

  /** Asks one question. */
  answer<T>(question: Question<T>): Promise<T> {
    return this.#asking.begin(naming([question.request.key]), async () => (await this.#askAll([question]))[0]!);
  }

  /** Asks several questions in one round, at most 16, and gives their answers in order. */
  askAll<const Q extends readonly Question<any>[]>(...questions: Q): Promise<AnswersOf<Q>> {
    const keys = questions.map((q) => q.request.key);
    return this.#asking.begin(naming(keys), () => this.#askAll(questions) as Promise<AnswersOf<Q>>);
  }

  async #askAll<T>(questions: readonly Question<T>[]): Promise<T[]> {
    this.#mayAsk();
    const found = await Promise.all(questions.map((q) => this.#answers.find(q.request.key, (r) => q.fits(r))));
    found.forEach((response, i) => {
      const { request } = questions[i]!;
      if (!response) this.#answers.missing.set(request.key, request);
    });
    if (this.#answers.missing.size > 0) throw new Unwinding();
    return Promise.all(questions.map((q, i) => q.parse(found[i]!)));
  }

  #mayAsk(): void {
    if (!this.#emit) throw new Failure("Internal", "a completion cannot ask the client");
  }

  /**
   * @internal Ends events, which cannot follow the outcome. Gives the questions that the round ends in, of the handler or of what
   * it threw; undefined: it does not. Throws a fault of the handler, unless it is to end anyway, and a Failure when the handler
   * returned without waiting for an answer.
   */
  end(ended: PromiseSettledResult<unknown>): WireInputRequired | undefined {
    this.#over = true;
    this.#asking.end();
    const thrown: unknown = ended.status === "rejected" ? ended.reason : undefined;
    const unwound = this.#asking.unwound; // what is thrown then is of a catch that took the unwinding for something else
    if (ended.status === "rejected" && isFault(thrown) && !this.signal.aborted && !unwound) throw thrown;
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

/** What the official SDK's `extra` has and a Call has not: what to write instead. */
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

const wireLevel = (level: LogLevel): common.LogLevel => levels.indexOf(level) + 1;

export function cacheHint(ttl: number, shared = false): common.CacheHint {
  const scope = shared ? common.CacheScope.CACHE_SCOPE_PUBLIC : common.CacheScope.CACHE_SCOPE_PRIVATE;
  return { ttl: wireDuration(ttl), scope };
}
