import { type Server as GrpcServer, status } from "@grpc/grpc-js";
import type { Call, Sink } from "./call.js";
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
import type { ResourceProvider, Skill } from "./providers.js";
import { type MadeFrom, Rpcs } from "./rpc.js";
import { reading } from "./resources.js";
import { Runner } from "./run.js";
import type { Server } from "./server.js";

type Listed = { name: string } | { uri: string } | { uriTemplate: string };
/** A request to a provider. */
type Ask<T> = (provider: ResourceProvider, call: Call) => Awaitable<T>;
type ListRequest = { pageToken: string; pageSize?: number };

/** Adds the services of the contract to a gRPC server. Close the Server before the gRPC server's tryShutdown. */
export function register(server: Server, grpc: Pick<GrpcServer, "addService">): void {
  const { feeds } = server;
  const rpc = new Rpcs(server);
  const runner = new Runner(server.log, server.options.maskErrors);

  /** A list, in pages that are the first member of the response. */
  function list<E extends Listed, Req extends ListRequest>(
    response: MadeFrom,
    type: Encoder<E>,
    entries: (request: Req, sink: Sink) => Awaitable<E[]>,
  ) {
    const [member = ""] = Object.keys(response.fromPartial({}));
    return rpc.unary(response, async (request: Req, sink) => {
      const listed = await entries(request, sink);
      const { items, next } = page(listed, keyOf, type, request.pageToken, request.pageSize);
      return { [member]: items, nextPageToken: next, cache: server.cache };
    });
  }

  /** all collects the lists of all providers, in their order. */
  async function all<T>(what: string, sink: Sink, ask: Ask<T[]>): Promise<T[]> {
    const found: T[] = [];
    for (const { prefix, provider } of server.providers.all()) {
      found.push(...(await runner.unary(`${what} of ${prefix}`, {}, sink, (call) => ask(provider, call))));
    }
    return found;
  }

  /** provided requests from the provider of a URI; undefined and null are NOT_FOUND. */
  function provided<T>(what: string, request: resources.GetSkillRequest, sink: Sink, ask: Ask<T | null | undefined>) {
    const { uri, context } = request;
    return runner.unary(`${what} ${uri}`, { context }, sink, async (call) => {
      const provider = server.provider(uri)?.provider;
      const found = provider && (await reading(uri, () => ask(provider, call)));
      if (found === undefined || found === null) throw noResource(uri);
      return found;
    });
  }

  const watchList = (response: MadeFrom, feed: Feed, fits = (_: string) => false) =>
    rpc.watch(response, feed, () => ({ uri: "", fits, changed: () => ({ changed: {} }) }));

  grpc.addService(BackendServiceService, { describe: rpc.unary(DescribeResponse, () => describe(server)) });
  grpc.addService(tools.ToolServiceService, {
    listTools: list(tools.ListToolsResponse, Tool, () => server.tools.all().map((t) => t.listed)),
    callTool: rpc.work(tools.CallToolResponse, (request, sink) =>
      runner.work(`tool ${request.name}`, request, sink, () => server.tools.find(request.name)),
    ),
    cancelCall: rpc.identified(tools.CancelCallResponse, async (request, sink) => {
      const fn = server.cancels.get(request.name);
      if (fn) await runner.unary(`cancellation of ${request.name}`, request, sink, fn);
      return {};
    }),
    watchTools: watchList(tools.WatchToolsResponse, feeds.tools),
  } satisfies tools.ToolServiceServer);
  const { ListPromptsResponse, Prompt } = prompts;
  grpc.addService(prompts.PromptServiceService, {
    listPrompts: list(ListPromptsResponse, Prompt, () => server.prompts.all().map((p) => p.listed)),
    getPrompt: rpc.work(prompts.GetPromptResponse, (request, sink) =>
      runner.work(`prompt ${request.name}`, request, sink, () => server.prompts.find(request.name)),
    ),
    completePrompt: rpc.identified(prompts.CompletePromptResponse, (request, sink) =>
      runner.complete(server.prompts.find(request.name), request, sink),
    ),
    watchPrompts: watchList(prompts.WatchPromptsResponse, feeds.prompts),
  } satisfies prompts.PromptServiceServer);
  grpc.addService(resources.ResourceServiceService, {
    listResources: list(resources.ListResourcesResponse, Resource, async (_, sink) => [
      ...server.resources.all().map((r) => r.listed),
      ...(await all("list", sink, (provider) => provider.list())).map(wireResource),
    ]),
    listResourceTemplates: list(resources.ListResourceTemplatesResponse, resources.ResourceTemplate, () =>
      server.templates.all().map((t) => t.listed),
    ),
    readResource: rpc.work(resources.ReadResourceResponse, (request, sink) =>
      runner.work(`read of ${request.uri}`, request, sink, () => server.readable(request.uri)),
    ),
    completeResourceTemplate: rpc.identified(resources.CompleteResourceTemplateResponse, (request, sink) =>
      runner.complete(server.templates.find(request.uriTemplate), request, sink),
    ),
    watchResources: watchList(resources.WatchResourcesResponse, feeds.resources, () => true),
    watchResource: rpc.watch(resources.WatchResourceResponse, feeds.updates, ({ uri }) => {
      const parent = uri.endsWith("/");
      if (!parent) server.readable(uri);
      const fits = (prefix: string) => uri.startsWith(prefix) || (parent && prefix.startsWith(uri));
      return { uri, fits, changed: (uri) => ({ updated: { uri } }) };
    }),
    listSkills: list(resources.ListSkillsResponse, resources.Skill, async (_, sink) => {
      if (skilled(server).length === 0) throw new StatusError(status.UNIMPLEMENTED, "there are no skills");
      return (await all("skills", sink, (provider) => provider.skills?.() ?? [])).map(wireSkill);
    }),
    getSkill: rpc.unary(resources.GetSkillResponse, (request, sink) =>
      provided("skill", request, sink, async (provider, call) => {
        const skill = await provider.skill?.(request.uri, call);
        return skill && { skill: wireSkill(skill), cache: call.extras.cache };
      }),
    ),
    listResourceDirectory: list(resources.ListResourceDirectoryResponse, Resource, async (request, sink) => {
      const children = provided("directory", request, sink, (p, call) => p.directory?.(request.uri, call));
      return (await children).map(wireResource);
    }),
  } satisfies resources.ResourceServiceServer);
}

/** keyOf returns the key of an entry of a list. */
const keyOf = (l: Listed) => ("uriTemplate" in l ? l.uriTemplate : "uri" in l ? l.uri : l.name);

const skilled = (s: Server) => s.providers.all().flatMap(({ provider }) => (provider.skills ? [provider] : []));

/** describe returns the description of a server: a kind is announced if it has an entry, or by the option announce. */
function describe(s: Server): object {
  const { announce = [], instructions } = s.options;
  const entries = { tools: s.tools.all(), prompts: s.prompts.all(), resources: s.resources.all() };
  const templates = s.templates.all();
  const providers = s.providers.all();
  const has = (kind: keyof typeof entries) => announce.includes(kind) || entries[kind].length > 0;
  const readable = has("resources") || templates.length > 0 || providers.length > 0;
  const completion = (all: { completers?: object }[]) => all.some((e) => Object.keys(e.completers ?? {}).length > 0);
  const directories = skilled(s).length > 0 && skilled(s).every((provider) => provider.directory);
  const uriPrefixes = providers.map((p) => p.prefix);
  const read = { listChanged: true, subscribe: true, completion: completion(templates), directories, uriPrefixes };
  return {
    implementation: s.options,
    instructions,
    extensionsJson: s.extensionsJson,
    tools: has("tools") ? { listChanged: true } : undefined,
    prompts: has("prompts") ? { listChanged: true, completion: completion(entries.prompts) } : undefined,
    resources: readable ? read : undefined,
  };
}

function wireSkill(s: Skill): resources.Skill {
  const files = s.files.map((f) => ({ ...f, sha256: Buffer.from(f.sha256), size: BigInt(f.size) }));
  const frontmatterJson = encodeObject(`front matter of ${s.uri}`, s.frontmatter);
  return resources.Skill.fromPartial({ ...s, frontmatterJson, files });
}
