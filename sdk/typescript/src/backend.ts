import { Call, type Sink } from "./call.js";
import { type Completers, suggest, type Suggestions } from "./completion.js";
import { type Awaitable, Failure, failureStatus, StatusError, wireFailure } from "./failure.js";
import type { RequestContext } from "./gen/mcpedge/v1/common.js";
import type { InputResponse } from "./gen/mcpedge/v1/input.js";
import type { Work } from "./registry.js";
import { type Logger, type Outcome, type Plain, run } from "./run.js";

/** What requests for work have. */
export interface WorkRequest {
  context?: RequestContext;
  inputResponses?: InputResponse[];
  state?: Buffer;
}

interface CompletionRequest {
  context?: RequestContext;
  argumentName: string;
  argumentValue: string;
  contextArguments: Record<string, string>;
}

/** Does the work of handlers, and logs their faults. */
export class Backend {
  constructor(readonly log: Logger) {}

  /** One round of a request for what find finds; it may throw a Failure. */
  work<Res extends { metaJson: string }>(
    what: string,
    request: WorkRequest,
    sink: Sink,
    find: () => Work<never, Res>,
  ): Promise<Outcome<Res>> {
    const handle = async (call: Call) => said(call, await find().handle(request as never, call));
    return this.#round(what, request, sink, handle, (error, call) => {
      const outcome = find().plain?.(error, call) ?? new Failure("Internal", error.message);
      return outcome instanceof Failure ? outcome : said(call, outcome);
    });
  }

  complete(entry: { completers?: Completers }, request: CompletionRequest, sink: Sink): Promise<Suggestions> {
    const { argumentName, argumentValue, contextArguments, context } = request;
    const by = entry.completers?.[argumentName];
    const handle = (call: Call) => suggest(by, argumentValue, contextArguments, call);
    return this.unary(`completion of ${argumentName}`, { context }, sink, handle);
  }

  /** Does what has no stream: no events, no questions. Throws a status in place of a failure. */
  async unary<R>(what: string, request: WorkRequest, sink: Sink, handle: (call: Call) => Awaitable<R>): Promise<R> {
    const outcome = await this.#round(what, request, { ...sink, emit: undefined }, handle);
    const failed = outcome.status ?? (outcome.failure && failureStatus(outcome.failure));
    if (failed) throw new StatusError(failed.code, failed.details);
    return outcome.result as R;
  }

  async #round<R>(
    what: string,
    { context, inputResponses, state }: WorkRequest,
    sink: Sink,
    handle: (call: Call) => Awaitable<R>,
    plain?: Plain<R>,
  ): Promise<Outcome<R>> {
    try {
      return await run(this.log, what, new Call(context, sink, inputResponses, state), handle, plain);
    } catch (error) {
      if (error instanceof Failure) return { failure: wireFailure(error) };
      throw error;
    }
  }
}

/** A result with what the call said of it, unless it says so itself. */
function said<R extends { metaJson: string }>(call: Call, result: R): R {
  const { metaJson, cache } = call.extras();
  return { ...result, cache, metaJson: result.metaJson || metaJson };
}
