import { status } from "@grpc/grpc-js";
import { Call, type Sink } from "./call.js";
import { suggest, type Completer, type Suggestions } from "./completion.js";
import { type Resource, wireResource } from "./content.js";
import { encodeObject, Failure, failureStatus, noResource, quote, StatusError, wireFailure } from "./failure.js";
import { DescribeRequest, DescribeResponse } from "./gen/mcpedge/v1/backend.js";
import type { RequestContext } from "./gen/mcpedge/v1/common.js";
import { Resource as WireResource } from "./gen/mcpedge/v1/content.js";
import { InputResponse, Tool } from "./gen/mcpedge/v1/input.js";
import * as prompts from "./gen/mcpedge/v1/prompts.js";
import * as resources from "./gen/mcpedge/v1/resources.js";
import * as tools from "./gen/mcpedge/v1/tools.js";
import { page } from "./page.js";
import { existing, hasDirectories, type Skill } from "./providers.js";
import { reading } from "./resources.js";
import { type Outcome, run } from "./run.js";
import type { Server } from "./server.js";
import { plainToolError } from "./tools.js";

/** What every request for work has. */
interface WorkRequest {
  context?: RequestContext;
  inputResponses: InputResponse[];
  state: Buffer;
}

type ListRequest = { pageToken: string; pageSize: number };

/** The contract over a Server, without its transport. Unary methods throw errors with a gRPC status. */
export class Backend {
  constructor(readonly server: Server) {}

  /** Says what is there: a kind is announced when it has an entry or is to be announced anyway. */
  describe(_: DescribeRequest): DescribeResponse {
    const s = this.server;
    const { announce = [], instructions } = s.options;
    const completes = (entry: { completers: object }) => Object.keys(entry.completers).length > 0;
    const providers = s.providers.all();
    const readable = !s.resources.empty || !s.templates.empty || providers.length > 0;
    return DescribeResponse.fromPartial({
      implementation: s.info,
      instructions,
      extensionsJson: s.extensionsJson,
      tools: announce.includes("tools") || !s.tools.empty ? { listChanged: true } : undefined,
      resources:
        announce.includes("resources") || readable
          ? {
              listChanged: true,
              subscribe: true,
              completion: s.templates.all().some(completes),
              directories: hasDirectories(providers),
              uriPrefixes: providers.map((p) => p.prefix),
            }
          : undefined,
      prompts:
        announce.includes("prompts") || !s.prompts.empty
          ? { listChanged: true, completion: s.prompts.all().some(completes) }
          : undefined,
    });
  }

  listTools({ pageToken, pageSize }: ListRequest): tools.ListToolsResponse {
    const all = this.server.tools.all().map((t) => t.listed);
    const { items, next } = page(all, (t) => t.name, Tool, pageToken, pageSize);
    return { tools: items, nextPageToken: next, cache: this.server.cache };
  }

  async callTool(request: tools.CallToolRequest, sink: Sink): Promise<Outcome<tools.CallToolResult>> {
    const tool = this.server.tools.get(request.name);
    if (!tool) return missing("tool", request.name);
    const handler = (call: Call) => tool.handler(request.argumentsJson, call);
    const { call, ...outcome } = await this.#work(`tool ${request.name}`, request, sink, handler, plainToolError);
    if (call && outcome.result && !outcome.result.metaJson) outcome.result.metaJson = call.extras().metaJson;
    return outcome;
  }

  async cancelCall(request: tools.CancelCallRequest, sink: Sink): Promise<tools.CancelCallResponse> {
    const fn = this.server.cancels.get(request.name);
    if (fn) await this.#unary(`cancellation of ${request.name}`, { ...request, inputResponses: [] }, sink, fn);
    return {};
  }

  listPrompts({ pageToken, pageSize }: ListRequest): prompts.ListPromptsResponse {
    const all = this.server.prompts.all().map((p) => p.listed);
    const { items, next } = page(all, (p) => p.name, prompts.Prompt, pageToken, pageSize);
    return { prompts: items, nextPageToken: next, cache: this.server.cache };
  }

  async getPrompt(request: prompts.GetPromptRequest, sink: Sink): Promise<Outcome<prompts.GetPromptResult>> {
    const prompt = this.server.prompts.get(request.name);
    if (!prompt) return missing("prompt", request.name);
    const handler = (call: Call) => prompt.handler(request.arguments, call);
    const { call, ...outcome } = await this.#work(`prompt ${request.name}`, request, sink, handler);
    if (call && outcome.result && !outcome.result.metaJson) outcome.result.metaJson = call.extras().metaJson;
    return outcome;
  }

  completePrompt(request: prompts.CompletePromptRequest, sink: Sink): Promise<Suggestions> {
    const prompt = this.server.prompts.get(request.name);
    if (!prompt) throw new StatusError(status.NOT_FOUND, `there is no prompt ${quote(request.name)}`);
    return this.#complete(`prompt ${request.name}`, prompt.completers[request.argumentName], request, sink);
  }

  async listResources({ pageToken, pageSize }: ListRequest, sink: Sink): Promise<resources.ListResourcesResponse> {
    const all = this.server.resources.all().map((r) => r.listed);
    for (const { prefix, provider } of this.server.providers.all()) {
      const listed = await this.#unary(`list of ${prefix}`, {}, sink, () => provider.list());
      all.push(...listed.map(wireResource));
    }
    const { items, next } = page(all, (r) => r.uri, WireResource, pageToken, pageSize);
    return { resources: items, nextPageToken: next, cache: this.server.cache };
  }

  listResourceTemplates({ pageToken, pageSize }: ListRequest): resources.ListResourceTemplatesResponse {
    const all = this.server.templates.all().map((t) => t.listed);
    const { items, next } = page(all, (t) => t.uriTemplate, resources.ResourceTemplate, pageToken, pageSize);
    return { resourceTemplates: items, nextPageToken: next, cache: this.server.cache };
  }

  async readResource(
    request: resources.ReadResourceRequest,
    sink: Sink,
  ): Promise<Outcome<resources.ReadResourceResult>> {
    const { uri } = request;
    const read = this.server.reader(uri);
    if (!read) return { failure: wireFailure(noResource(uri)) };
    const { call, result, ...outcome } = await this.#work(`read of ${uri}`, request, sink, (call) => read(uri, call));
    return call && result ? { result: { contents: result, ...call.extras() } } : outcome;
  }

  completeResourceTemplate(request: resources.CompleteResourceTemplateRequest, sink: Sink): Promise<Suggestions> {
    const { uriTemplate } = request;
    const template = this.server.templates.get(uriTemplate);
    if (!template) throw new StatusError(status.NOT_FOUND, `there is no resource template ${quote(uriTemplate)}`);
    return this.#complete(`template ${uriTemplate}`, template.completers[request.argumentName], request, sink);
  }

  async listSkills({ pageToken, pageSize }: ListRequest, sink: Sink): Promise<resources.ListSkillsResponse> {
    const providers = this.server.providers.all().filter((p) => p.provider.skills);
    if (providers.length === 0) throw new StatusError(status.UNIMPLEMENTED, "there are no skills");
    const all: resources.Skill[] = [];
    for (const { prefix, provider } of providers) {
      const listed = await this.#unary(`skills of ${prefix}`, {}, sink, () => provider.skills!());
      all.push(...listed.map(wireSkill));
    }
    const { items, next } = page(all, (s) => s.uri, resources.Skill, pageToken, pageSize);
    return { skills: items, nextPageToken: next, cache: this.server.cache };
  }

  async getSkill({ uri, context }: resources.GetSkillRequest, sink: Sink): Promise<resources.GetSkillResponse> {
    const provider = this.server.provider(uri)?.provider;
    let cache: resources.GetSkillResponse["cache"];
    const skill = await this.#unary(`skill ${uri}`, { context }, sink, async (call) => {
      const found = existing(uri, await reading(uri, () => provider?.skill?.(uri, call)));
      cache = call.extras().cache;
      return found;
    });
    return { skill: wireSkill(skill), cache };
  }

  async listResourceDirectory(
    { uri, context, pageToken }: resources.ListResourceDirectoryRequest,
    sink: Sink,
  ): Promise<resources.ListResourceDirectoryResponse> {
    const provider = this.server.provider(uri)?.provider;
    const children = await this.#unary(`directory ${uri}`, { context }, sink, async (call): Promise<Resource[]> => {
      return existing(uri, await reading(uri, () => provider?.directory?.(uri, call)));
    });
    const { items, next } = page(children.map(wireResource), (r) => r.uri, WireResource, pageToken, 0);
    return { resources: items, nextPageToken: next };
  }

  /** Runs one round of work. */
  async #work<R>(
    what: string,
    request: WorkRequest,
    sink: Sink,
    handler: (call: Call) => R | Promise<R>,
    plain?: (error: Error) => R | Failure,
  ): Promise<Outcome<R> & { call?: Call }> {
    let call: Call;
    try {
      call = new Call(request.context, sink, request.inputResponses, request.state);
    } catch (error) {
      if (error instanceof Failure) return { failure: wireFailure(error) };
      throw error;
    }
    return { ...(await run(this.server.log, what, call, () => handler(call), plain)), call };
  }

  /** Runs what has no stream: no events, no questions, and a status in place of a failure. */
  async #unary<R>(
    what: string,
    request: Partial<WorkRequest>,
    { signal, deadline }: Sink,
    handler: (call: Call) => R | Promise<R>,
  ): Promise<R> {
    const { context, inputResponses = [], state = Buffer.alloc(0) } = request;
    const outcome = await this.#work(what, { context, inputResponses, state }, { signal, deadline }, handler);
    const failed = outcome.status ?? (outcome.failure && failureStatus(outcome.failure));
    if (failed) throw new StatusError(failed.code, failed.details);
    return outcome.result as R;
  }

  #complete(
    what: string,
    by: Completer | undefined,
    request: { context?: RequestContext; argumentValue: string; contextArguments: Record<string, string> },
    sink: Sink,
  ): Promise<Suggestions> {
    const { context, argumentValue, contextArguments } = request;
    return this.#unary(`completion of ${what}`, { context }, sink, (call) =>
      suggest(by, argumentValue, contextArguments, call),
    );
  }
}

function missing(kind: string, name: string): { failure: ReturnType<typeof wireFailure> } {
  return { failure: wireFailure(new Failure("NotFound", `there is no ${kind} ${quote(name)}`)) };
}

function wireSkill(s: Skill): resources.Skill {
  const files = s.files.map((f) => ({ uri: f.uri, sha256: Buffer.from(f.sha256), size: BigInt(f.size) }));
  return {
    uri: s.uri,
    frontmatterJson: encodeObject(`front matter of ${s.uri}`, s.frontmatter),
    files,
    dynamic: s.dynamic ?? false,
  };
}
