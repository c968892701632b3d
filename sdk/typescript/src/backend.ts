import { Call, type Sink } from "./call.js";
import { type Completer, type Completers, suggest, type Suggestions } from "./completion.js";
import { type Awaitable, Failure, failureStatus, noResource, StatusError, wireFailure } from "./failure.js";
import type { RequestContext } from "./gen/mcpedge/v1/common.js";
import type { InputResponse } from "./gen/mcpedge/v1/input.js";
import type { GetPromptRequest, GetPromptResult } from "./gen/mcpedge/v1/prompts.js";
import type { ReadResourceRequest, ReadResourceResult } from "./gen/mcpedge/v1/resources.js";
import type { CallToolRequest, CallToolResult } from "./gen/mcpedge/v1/tools.js";
import { type Outcome, type Plain, run } from "./run.js";
import type { Server } from "./server.js";
import { plainToolError } from "./tools.js";

/** What requests for work have. */
interface WorkRequest {
  context?: RequestContext;
  inputResponses?: InputResponse[];
  state?: Buffer;
}

interface CompletionRequest extends WorkRequest {
  argumentName: string;
  argumentValue: string;
  contextArguments: Record<string, string>;
}

/** Does the work of a Server's handlers. */
export class Backend {
  constructor(readonly server: Server) {}

  callTool(request: CallToolRequest, sink: Sink): Promise<Outcome<CallToolResult>> {
    const handler = async (call: Call) => {
      const result = await this.server.tools.find(request.name).handler(request.argumentsJson, call);
      return { ...result, metaJson: result.metaJson || call.extras().metaJson };
    };
    return this.#round(`tool ${request.name}`, request, sink, handler, plainToolError);
  }

  getPrompt(request: GetPromptRequest, sink: Sink): Promise<Outcome<GetPromptResult>> {
    return this.#round(`prompt ${request.name}`, request, sink, async (call) => {
      const result = await this.server.prompts.find(request.name).handler(request.arguments, call);
      return { ...result, metaJson: result.metaJson || call.extras().metaJson };
    });
  }

  readResource(request: ReadResourceRequest, sink: Sink): Promise<Outcome<ReadResourceResult>> {
    const { uri } = request;
    return this.#round(`read of ${uri}`, request, sink, async (call) => {
      const read = this.server.reader(uri);
      if (!read) throw noResource(uri);
      return { contents: await read(uri, call), ...call.extras() };
    });
  }

  complete(entry: { completers: Completers }, request: CompletionRequest, sink: Sink): Promise<Suggestions> {
    const { argumentName, argumentValue, contextArguments, context } = request;
    const by: Completer | undefined = entry.completers[argumentName];
    const handler = (call: Call) => suggest(by, argumentValue, contextArguments, call);
    return this.unary(`completion of ${argumentName}`, { context }, sink, handler);
  }

  /** Does what has no stream: no events, no questions. Throws a status in place of a failure. */
  async unary<R>(
    what: string,
    request: WorkRequest,
    { signal, deadline }: Sink,
    handler: (call: Call) => Awaitable<R>,
  ): Promise<R> {
    const outcome = await this.#round(what, request, { signal, deadline }, handler);
    const failed = outcome.status ?? (outcome.failure && failureStatus(outcome.failure));
    if (failed) throw new StatusError(failed.code, failed.details);
    return outcome.result as R;
  }

  async #round<R>(
    what: string,
    { context, inputResponses, state }: WorkRequest,
    sink: Sink,
    handler: (call: Call) => Awaitable<R>,
    plain?: Plain<R>,
  ): Promise<Outcome<R>> {
    try {
      return await run(this.server.log, what, new Call(context, sink, inputResponses, state), handler, plain);
    } catch (error) {
      if (error instanceof Failure) return { failure: wireFailure(error) };
      throw error;
    }
  }
}
