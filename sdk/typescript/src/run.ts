import { status } from "@grpc/grpc-js";
import { Call, type Sink } from "./call.js";
import { type CompleteRequest, type Completers, suggest } from "./completion.js";
import * as failure from "./failure.js";
import { type Awaitable, Failure, messageOf, wireFailure } from "./failure.js";
import type { Failure as WireFailure } from "./gen/mcpedge/v1/common.js";
import type { InputRequired as WireInputRequired } from "./gen/mcpedge/v1/input.js";
import type { CallToolRequest } from "./gen/mcpedge/v1/tools.js";
import type { Work } from "./registry.js";

/** The end of a round: exactly one of these. */
export interface Outcome<R> {
  result?: R;
  inputRequired?: WireInputRequired;
  failure?: WireFailure;
  status?: failure.Status;
}

/** The service's own log. */
export type Logger = Record<"info" | "warn" | "error", (message: string, fields?: object) => void>;

/** One line of JSON for each message, to stderr. */
export const stderrLogger: Logger = { info: line("INFO"), warn: line("WARN"), error: line("ERROR") };

function line(level: string): Logger["info"] {
  return (msg, fields) => {
    process.stderr.write(failure.encodeJson({ time: new Date().toISOString(), level, msg, ...fields }) + "\n");
  };
}

/** The members of requests for work. */
export type WorkRequest = Partial<Pick<CallToolRequest, "context" | "inputResponses" | "state">>;

/** Converts an error without a reason to a result. */
export type Plain<R> = (error: Error) => R;

/** Runs handlers. A fault of the program is INTERNAL, with its message in the log only. */
export class Runner {
  /** maskErrors hides the message of every error that has no reason. */
  constructor(
    readonly log: Logger,
    readonly maskErrors = false,
  ) {}

  /** work runs one round of a request by the handler that find returns; find may throw a Failure. */
  work<R extends { metaJson: string }>(what: string, request: WorkRequest, sink: Sink, find: () => Work<never, R>) {
    const sent = (call: Call, result: R): R => {
      const { metaJson, cache } = call.extras;
      return { ...result, cache, metaJson: result.metaJson || metaJson };
    };
    let found: Work<never, R> | undefined; // once: it may be removed while it runs
    const handle = async (call: Call) => sent(call, await (found = find()).handle(request as never, call));
    const failed = (thrown: unknown, call: Call) => sent(call, sorted(call, thrown, found?.plain));
    return this.#round(what, request, sink, handle, failed);
  }

  complete({ completers = {} }: { completers?: Completers }, request: CompleteRequest, sink: Sink) {
    const { argumentName, context } = request;
    const by = Object.hasOwn(completers, argumentName) ? completers[argumentName] : undefined;
    return this.unary(`completion of ${argumentName}`, { context }, sink, (call) => suggest(by, request, call));
  }

  /** unary runs a handler without events and questions. Throws a status in place of a failure. */
  async unary<R>(what: string, request: WorkRequest, sink: Sink, handle: (call: Call) => Awaitable<R>): Promise<R> {
    const failing = (thrown: unknown, call: Call) => sorted<R>(call, thrown, undefined);
    const outcome = await this.#round(what, request, { ...sink, emit: undefined }, handle, failing);
    const failed = outcome.status ?? (outcome.failure && failure.failureStatus(outcome.failure));
    if (failed) throw new failure.StatusError(failed.code, failed.details);
    return outcome.result as R;
  }

  async #round<R>(
    what: string,
    { context, inputResponses, state }: WorkRequest,
    sink: Sink,
    handle: (call: Call) => Awaitable<R>,
    failed: (thrown: unknown, call: Call) => R,
  ): Promise<Outcome<R>> {
    try {
      const call = new Call(context, sink, inputResponses, state);
      const [ended] = await Promise.allSettled([Promise.resolve(call).then(handle)]);
      const inputRequired = call.end(ended, this.maskErrors);
      if (inputRequired) return { inputRequired };
      return { result: ended.status === "fulfilled" ? ended.value : failed(ended.reason, call) };
    } catch (thrown) {
      if (thrown instanceof Failure) return { failure: wireFailure(thrown) };
      const known = failure.statusOf(thrown);
      if (known) return { status: known };
      const stack = thrown instanceof Error ? thrown.stack : undefined;
      const fields = { handler: what, call_id: context?.callId, error: messageOf(thrown), stack };
      this.log.error("a handler failed by a fault", fields);
      return { failure: wireFailure(new Failure("Internal", `${what} failed by a fault of the service`)) };
    }
  }
}

/**
 * sorted converts an error of a handler that is no fault. With plain, which tools have, an error without a reason and NOT_FOUND
 * become a result for the model. Other failures and statuses are thrown.
 */
function sorted<R>(call: Call, thrown: unknown, plain: Plain<R> | undefined): R {
  const lacking = plain && failure.notFound(thrown);
  if (plain && lacking !== undefined) return plain(new Error(lacking));
  if (thrown instanceof Failure) throw thrown;
  const { aborted, reason } = call.signal;
  if (aborted) throw failure.statusOf(reason) ? reason : new failure.StatusError(status.CANCELLED, messageOf(reason));
  if (failure.statusOf(thrown)) throw thrown;
  if (plain) return plain(thrown as Error);
  throw new Failure("Internal", messageOf(thrown));
}
