import type { Event } from "./call.js";
import { LogLevel, LogMessage, Progress, RequestContext } from "./gen/mcpedge/v1/common.js";
import { ElicitAction, InputRequest, InputRequired, InputResponse } from "./gen/mcpedge/v1/input.js";
import { CallToolRequest, CallToolResult } from "./gen/mcpedge/v1/tools.js";
import { GetPromptRequest, GetPromptResult } from "./gen/mcpedge/v1/prompts.js";
import { ReadResourceRequest, ReadResourceResult } from "./gen/mcpedge/v1/resources.js";
import type { DeepPartial, MessageFns } from "./gen/mcpedge/v1/content.js";
import type { Work } from "./registry.js";
import type { Root } from "./questions.js";
import { type Outcome, Runner, type WorkRequest } from "./run.js";
import type { Server } from "./server.js";

/** Bounds the rounds of a call that keeps asking. */
const maxRounds = 32;

/** The client's answer to a question; the key is filled in. */
export type Answer = Partial<Omit<InputResponse, "key">>;

/**
 * A user who completed a form, or agreed to open a URL. A value that is no object is the answer to a form of one
 * member.
 */
export function accepted(content?: object | string | number | boolean): Answer {
  const whole = typeof content === "object" && !Array.isArray(content) ? content : { answer: content };
  const contentJson = content === undefined ? "" : JSON.stringify(whole);
  return { elicit: { action: ElicitAction.ELICIT_ACTION_ACCEPT, contentJson } };
}

/** A user who said no. */
export function declined(): Answer {
  return { elicit: { action: ElicitAction.ELICIT_ACTION_DECLINE, contentJson: "" } };
}

/** A user who closed the question. */
export function dismissed(): Answer {
  return { elicit: { action: ElicitAction.ELICIT_ACTION_CANCEL, contentJson: "" } };
}

/** A client's model that returns some text. */
export function sampled(text: string): Answer {
  return InputResponse.fromPartial({
    createMessage: { role: 2, model: "test", stopReason: "endTurn", content: [{ text: { text } }] },
  });
}

/** A client with these roots. */
export function roots(...roots: Root[]): Answer {
  return InputResponse.fromPartial({ listRoots: { roots } });
}

/** The end of a call, with its events. Exactly one of result, inputRequired, failure and status is set. */
export interface Called<R> extends Outcome<R> {
  progress: Progress[];
  logs: LogMessage[];
  checkpoints: Buffer[];
  deferred: boolean;
  /** How often the handler ran. */
  rounds: number;
}

export interface TestOptions {
  /** Answers by the key of the question, or by a function. A question without one ends the call, as inputRequired. */
  answers?: Record<string, Answer> | ((request: InputRequest) => Answer | undefined);
  /** Sent with every call; absent means a client that wants progress and all logs, and supports every question. */
  context?: Partial<RequestContext>;
  signal?: AbortSignal;
}

/**
 * Calls a Server in process as the edge does, with as many rounds as a handler requires. Messages are encoded and
 * decoded.
 */
export class TestClient {
  readonly #runner: Runner;

  constructor(
    readonly server: Server,
    readonly options: TestOptions = {},
  ) {
    this.#runner = new Runner(server.log);
  }

  callTool(name: string, args: object = {}, options: TestOptions = {}): Promise<Called<CallToolResult>> {
    const request = { name, argumentsJson: JSON.stringify(args) };
    return this.#rounds(`tool ${name}`, CallToolRequest, request, options, () => this.server.tools.find(name));
  }

  readResource(uri: string, options: TestOptions = {}): Promise<Called<ReadResourceResult>> {
    return this.#rounds(`read of ${uri}`, ReadResourceRequest, { uri }, options, () => this.server.readable(uri));
  }

  getPrompt(
    name: string,
    args: Record<string, string> = {},
    options: TestOptions = {},
  ): Promise<Called<GetPromptResult>> {
    const request = { name, arguments: args };
    return this.#rounds(`prompt ${name}`, GetPromptRequest, request, options, () => this.server.prompts.find(name));
  }

  /** Runs one call to its end; each round has only the latest answers, as with the edge. */
  async #rounds<Req extends WorkRequest, R extends { metaJson: string }>(
    what: string,
    type: MessageFns<Req>,
    members: object,
    options: TestOptions,
    find: () => Work<never, R>,
  ): Promise<Called<R>> {
    const { answers, context, signal = new AbortController().signal } = { ...this.options, ...options };
    const told = { progress: [] as Progress[], logs: [] as LogMessage[], checkpoints: [] as Buffer[], deferred: false };
    const emit = (event: Event) => {
      if ("progress" in event) told.progress.push(event.progress);
      if ("log" in event) told.logs.push(event.log);
      if ("checkpoint" in event) told.checkpoints.push(event.checkpoint.state);
      if ("defer" in event) told.deferred = true;
    };
    let inputResponses: InputResponse[] = [];
    let state: Buffer = Buffer.alloc(0);
    for (let rounds = 1; rounds <= maxRounds; rounds++) {
      const whole = { ...members, context: { ...everything, ...context, round: rounds }, inputResponses, state };
      const request = type.decode(type.encode(type.fromPartial(whole as DeepPartial<Req>)).finish());
      const outcome = await this.#runner.work(what, request, { emit, signal }, find);
      const asked = outcome.inputRequired;
      if (!asked) return { ...outcome, ...told, rounds };
      inputResponses = answersTo(asked, answers);
      if (asked.requests.length > 0 && inputResponses.length === 0) return { ...outcome, ...told, rounds };
      state = asked.state;
    }
    const given = inputResponses.map((r) => `${r.key}: ${r.elicit?.contentJson ?? JSON.stringify(r)}`);
    throw new Error(
      `the call still asks after ${maxRounds} rounds, with the answers ${given.join("; ")}: one that does not fit its question is ` +
        "asked for again. The answer to a form is an object with the names of its fields.",
    );
  }
}

const everything: Partial<RequestContext> = {
  callId: "test",
  attempt: 1,
  progressWanted: true,
  logLevel: LogLevel.LOG_LEVEL_DEBUG,
  checkpoints: true,
  clientCapabilities: {
    elicitation: { form: true, url: true, extraJson: "" },
    sampling: { context: true, tools: true, extraJson: "" },
    roots: { listChanged: false, extraJson: "" },
    extensionsJson: {},
    extraJson: "",
  },
};

function answersTo(asked: InputRequired, answers: TestOptions["answers"]): InputResponse[] {
  return asked.requests.flatMap((request) => {
    const answer = typeof answers === "function" ? answers(request) : answers?.[request.key];
    return answer ? [InputResponse.fromPartial({ ...answer, key: request.key })] : [];
  });
}
