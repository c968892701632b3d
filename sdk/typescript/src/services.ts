import { type Server as GrpcServer, status } from "@grpc/grpc-js";
import { Backend } from "./backend.js";
import { type Call, type Sink } from "./call.js";
import { wireResource } from "./content.js";
import { type Awaitable, encodeObject, noResource, StatusError } from "./failure.js";
import type { Feed } from "./feed.js";
import { BackendServiceService, DescribeResponse } from "./gen/mcpedge/v1/backend.js";
import { Resource } from "./gen/mcpedge/v1/content.js";
import { Tool } from "./gen/mcpedge/v1/input.js";
import * as prompts from "./gen/mcpedge/v1/prompts.js";
import * as resources from "./gen/mcpedge/v1/resources.js";
import * as tools from "./gen/mcpedge/v1/tools.js";
import { type Encoder, page } from "./page.js";
import type { Provided, Skill } from "./providers.js";
import type { Registry } from "./registry.js";
import { reading } from "./resources.js";
import { type MadeFrom, Rpcs } from "./rpc.js";
import type { Server } from "./server.js";

/** The entries of a registry as they are listed. */
function listed<T>(registry: Registry<{ listed: T }>): T[] {
  return registry.all().map((entry) => entry.listed);
}

interface ListRequest {
  pageToken: string;
  pageSize?: number;
}

/** Puts the contract's services on a gRPC server. Close the Server before the gRPC server's tryShutdown. */
export function register(server: Server, grpc: Pick<GrpcServer, "addService">): void {
  const rpc = new Rpcs(server);
  const backend = new Backend(server);
  const providers = new Provision(server, backend);
  const { feeds } = server;

  /** The RPC of a list, whose pages are the named member of the response. */
  function list<E, Req extends ListRequest>(
    response: MadeFrom,
    member: string,
    type: Encoder<E>,
    key: (entry: E) => string,
    all: (request: Req, sink: Sink) => Awaitable<E[]>,
  ) {
    return rpc.unary(response, async (request: Req, sink) => {
      const { items, next } = page(await all(request, sink), key, type, request.pageToken, request.pageSize);
      return { [member]: items, nextPageToken: next, cache: server.cache };
    });
  }

  const watchList = (response: MadeFrom, feed: Feed, fits = (_: string) => false) =>
    rpc.watch(response, feed, () => ({ uri: "", fits, changed: () => ({ changed: {} }) }));

  grpc.addService(BackendServiceService, { describe: rpc.unary(DescribeResponse, () => describe(server)) });
  grpc.addService(tools.ToolServiceService, {
    listTools: list(
      tools.ListToolsResponse,
      "tools",
      Tool,
      (t) => t.name,
      () => listed(server.tools),
    ),
    callTool: rpc.work(tools.CallToolResponse, (r: tools.CallToolRequest, sink) => backend.callTool(r, sink)),
    cancelCall: rpc.identified(tools.CancelCallResponse, async (request: tools.CancelCallRequest, sink) => {
      const fn = server.cancels.get(request.name);
      if (fn) await backend.unary(`cancellation of ${request.name}`, request, sink, fn);
      return {};
    }),
    watchTools: watchList(tools.WatchToolsResponse, feeds.tools),
  });
  grpc.addService(prompts.PromptServiceService, {
    listPrompts: list(
      prompts.ListPromptsResponse,
      "prompts",
      prompts.Prompt,
      (p) => p.name,
      () => listed(server.prompts),
    ),
    getPrompt: rpc.work(prompts.GetPromptResponse, (r: prompts.GetPromptRequest, sink) => backend.getPrompt(r, sink)),
    completePrompt: rpc.identified(prompts.CompletePromptResponse, (request: prompts.CompletePromptRequest, sink) =>
      backend.complete(server.prompts.find(request.name), request, sink),
    ),
    watchPrompts: watchList(prompts.WatchPromptsResponse, feeds.prompts),
  });
  const { ReadResourceResponse, CompleteResourceTemplateResponse, ListResourceDirectoryResponse } = resources;
  grpc.addService(resources.ResourceServiceService, {
    listResources: list(
      resources.ListResourcesResponse,
      "resources",
      Resource,
      (r) => r.uri,
      async (_, sink) => {
        const provided = await providers.all("list", sink, ({ provider }) => provider.list());
        return [...listed(server.resources), ...provided.map(wireResource)];
      },
    ),
    listResourceTemplates: list(
      resources.ListResourceTemplatesResponse,
      "resourceTemplates",
      resources.ResourceTemplate,
      (t) => t.uriTemplate,
      () => listed(server.templates),
    ),
    readResource: rpc.work(ReadResourceResponse, (r: resources.ReadResourceRequest, sink) =>
      backend.readResource(r, sink),
    ),
    completeResourceTemplate: rpc.identified(
      CompleteResourceTemplateResponse,
      (request: resources.CompleteResourceTemplateRequest, sink) =>
        backend.complete(server.templates.find(request.uriTemplate), request, sink),
    ),
    watchResources: watchList(resources.WatchResourcesResponse, feeds.resources, () => true),
    watchResource: rpc.watch(
      resources.WatchResourceResponse,
      feeds.updates,
      ({ uri }: resources.WatchResourceRequest) => {
        const parent = uri.endsWith("/");
        if (!parent && !server.reader(uri)) throw noResource(uri);
        const fits = (prefix: string) => uri.startsWith(prefix) || (parent && prefix.startsWith(uri));
        return { uri, fits, changed: (uri) => ({ updated: { uri } }) };
      },
    ),
    listSkills: list(
      resources.ListSkillsResponse,
      "skills",
      resources.Skill,
      (s) => s.uri,
      async (_, sink) => {
        if (!providers.skilled.length) throw new StatusError(status.UNIMPLEMENTED, "there are no skills");
        return (await providers.all("skills", sink, ({ provider }) => provider.skills?.() ?? [])).map(wireSkill);
      },
    ),
    getSkill: rpc.unary(resources.GetSkillResponse, (request: resources.GetSkillRequest, sink) =>
      providers.one("skill", request, sink, async ({ provider }, call) => {
        const skill = await provider.skill?.(request.uri, call);
        return skill && { skill: wireSkill(skill), cache: call.extras().cache };
      }),
    ),
    listResourceDirectory: list(
      ListResourceDirectoryResponse,
      "resources",
      Resource,
      (r) => r.uri,
      async (request: resources.ListResourceDirectoryRequest, sink) => {
        const ask = ({ provider }: Provided, call: Call) => provider.directory?.(request.uri, call);
        return (await providers.one("directory", request, sink, ask)).map(wireResource);
      },
    ),
  });
}

/** Asks the providers of a Server. */
class Provision {
  constructor(
    readonly server: Server,
    readonly backend: Backend,
  ) {}

  get skilled(): Provided[] {
    return this.server.providers.all().filter((p) => p.provider.skills);
  }

  /** What all providers give, in their order. */
  async all<T>(what: string, sink: Sink, ask: (provided: Provided) => Awaitable<T[]>): Promise<T[]> {
    const all: T[] = [];
    for (const p of this.server.providers.all()) {
      all.push(...(await this.backend.unary(`${what} of ${p.prefix}`, {}, sink, () => ask(p))));
    }
    return all;
  }

  /** What the provider of a URI gives; nothing is NOT_FOUND. */
  one<T>(
    what: string,
    request: { uri: string; context: Parameters<Backend["unary"]>[1]["context"] },
    sink: Sink,
    ask: (provided: Provided, call: Call) => Awaitable<T | undefined>,
  ): Promise<T> {
    const { uri, context } = request;
    return this.backend.unary(`${what} ${uri}`, { context }, sink, async (call) => {
      const provided = this.server.provider(uri);
      const found = provided && (await reading(uri, () => ask(provided, call)));
      if (found === undefined) throw noResource(uri);
      return found;
    });
  }
}

/** Says what is there: a kind is announced when it has an entry or is to be announced anyway. */
function describe(s: Server): object {
  const { announce = [], instructions } = s.options;
  const completion = (entries: { completers: object }[]) => entries.some((e) => Object.keys(e.completers).length > 0);
  const providers = s.providers.all();
  const skilled = providers.filter((p) => p.provider.skills);
  const readable = !s.resources.empty || !s.templates.empty || providers.length > 0;
  return {
    implementation: s.options,
    instructions,
    extensionsJson: s.extensionsJson,
    tools: announce.includes("tools") || !s.tools.empty ? { listChanged: true } : undefined,
    resources:
      announce.includes("resources") || readable
        ? {
            listChanged: true,
            subscribe: true,
            completion: completion(s.templates.all()),
            directories: skilled.length > 0 && skilled.every((p) => p.provider.directory),
            uriPrefixes: providers.map((p) => p.prefix),
          }
        : undefined,
    prompts:
      announce.includes("prompts") || !s.prompts.empty
        ? { listChanged: true, completion: completion(s.prompts.all()) }
        : undefined,
  };
}

function wireSkill(s: Skill): resources.Skill {
  const files = s.files.map((f) => ({ ...f, sha256: Buffer.from(f.sha256), size: BigInt(f.size) }));
  const frontmatterJson = encodeObject(`front matter of ${s.uri}`, s.frontmatter);
  return resources.Skill.fromPartial({ ...s, frontmatterJson, files });
}
