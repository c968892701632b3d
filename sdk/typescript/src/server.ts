import { cacheHint } from "./call.js";
import { encodeObject, noResource } from "./failure.js";
import { Feed } from "./feed.js";
import type { CacheHint } from "./gen/mcpedge/v1/common.js";
import type { IdentityOptions } from "./identity.js";
import { mustBeOneOf, mustKnow, type Names } from "./options.js";
import * as prompts from "./prompts.js";
import { Provided, type ResourceProvider, uriPrefix } from "./providers.js";
import { Registry } from "./registry.js";
import * as resources from "./resources.js";
import { type Logger, stderrLogger } from "./run.js";
import type { MaybeSchema } from "./schema.js";
import type { Icon } from "./types.js";
import * as tools from "./tools.js";

/**
 * The description of a service. Name and version are shown to operators, and to clients if it is the edge's only
 * backend.
 */
export interface ServerOptions {
  name: string;
  version: string;
  title?: string;
  description?: string;
  websiteUrl?: string;
  icons?: Icon[];
  /** Explains the service to the model. */
  instructions?: string;
  /** Protocol extensions: id to settings. */
  extensions?: Record<string, object>;
  /** How long, in ms, clients may cache the lists, and whether callers may share them. Absent disables that. */
  listCache?: { ttl: number; shared?: boolean };
  /** Kinds that are announced even if there are no entries when the edge connects. */
  announce?: ("tools" | "resources" | "prompts")[];
  /** Refuses work without an identity signed by the edge. */
  identity?: IdentityOptions;
  /** The service's own log. Absent means JSON lines on stderr. */
  logger?: Logger;
  /**
   * Hides the message of every error of a handler that has no reason, as those of faults: only a Failure, an error of a gRPC
   * client and Unanswered are shown. The log has the others. Absent shows them.
   */
  maskErrors?: boolean;
}

const kinds = ["tools", "resources", "prompts"] as const;
const names: Names<ServerOptions> = {
  name: true,
  version: true,
  title: true,
  description: true,
  websiteUrl: true,
  icons: true,
  instructions: true,
  extensions: true,
  listCache: true,
  announce: true,
  identity: true,
  logger: true,
  maskErrors: true,
};

/**
 * A service's tools, resources and prompts; serve serves it. Everything may be added and removed at any time: watchers
 * are notified. An invalid registration throws at once, with what to write.
 */
export class Server {
  /** @internal */ readonly extensionsJson: Record<string, string>;
  /** @internal */ readonly cache: CacheHint | undefined;
  /** @internal */ readonly log: Logger;
  /** @internal The feeds of the lists, and of single resources. */
  readonly feeds = { tools: new Feed(), prompts: new Feed(), resources: new Feed(), updates: new Feed() };
  /** @internal */ readonly tools = new Registry<tools.ToolEntry>("tool", this.feeds.tools);
  /** @internal */ readonly prompts = new Registry<prompts.PromptEntry>("prompt", this.feeds.prompts);
  /** @internal */ readonly resources = new Registry<resources.ResourceEntry>("resource", this.feeds.resources);
  /** @internal */
  readonly templates = new Registry<resources.TemplateEntry>("resource template", this.feeds.resources);
  /** @internal */ readonly providers = new Registry<Provided>("the provider of", this.feeds.resources);
  /** @internal Functions that end the running RPCs when the service stops. */
  readonly running = new Set<() => void>();
  /** @internal Cancel handlers by tool. They outlast a removed tool, as its tasks do. */
  readonly cancels = new Map<string, tools.CancelHandler>();

  constructor(
    readonly options: ServerOptions,
    ...rest: never[]
  ) {
    mustKnow("a Server", options, names);
    if (rest.length > 0) {
      const instead = "instructions is one of the first, and capabilities are what is registered, or announce";
      throw new TypeError(`a Server has no second options: ${instead}`);
    }
    for (const kind of options.announce ?? []) mustBeOneOf("announce of a Server", kind, kinds);
    const { extensions = {}, identity, listCache, logger = stderrLogger } = options;
    if (listCache) mustKnow("listCache of a Server", listCache, { ttl: true, shared: true });
    if (identity) mustKnow("identity of a Server", identity, { jwksUrl: true, audience: true });
    const settings = ([id, value]: [string, object]) => [id, encodeObject(`settings of extension ${id}`, value)];
    this.extensionsJson = Object.fromEntries(Object.entries(extensions).map(settings));
    this.cache = listCache && cacheHint(listCache.ttl, listCache.shared);
    this.log = logger;
  }

  /**
   * Adds a tool by a function. An error that it throws becomes a result with `isError` and the error's message, which a
   * model can act on, and so does NOT_FOUND; another Failure keeps its reason, and so does an error of a gRPC client. A
   * TypeError, ReferenceError or RangeError of the engine, or a value that is no Error, is a fault of the service: its
   * details are logged, and not sent.
   */
  registerTool<I extends MaybeSchema = undefined, O extends MaybeSchema = undefined>(
    name: string,
    config: tools.ToolConfig<I, O>,
    handler: tools.ToolHandler<I, O>,
  ): void {
    this.#addTool(name, tools.buildTool(name, config, handler), config.onCancel);
  }

  /** Adds a tool whose schemas are texts, and whose handler gets its arguments unchanged: the text of a JSON object. */
  registerRawTool(name: string, config: tools.RawToolConfig, handler: tools.RawToolHandler): void {
    this.#addTool(name, tools.buildRawTool(name, config, handler), config.onCancel);
  }

  #addTool(name: string, entry: tools.ToolEntry, onCancel: tools.CancelHandler | undefined): void {
    this.tools.add(name, entry);
    if (onCancel) this.cancels.set(name, onCancel);
    else this.cancels.delete(name);
  }

  /** Removes a tool, and returns whether it existed. Running calls continue. */
  removeTool(name: string): boolean {
    return this.tools.remove(name);
  }

  /**
   * Adds a resource. An error of its read becomes a protocol error: a Failure keeps its reason, ENOENT is NOT_FOUND,
   * others are INTERNAL.
   */
  registerResource(name: string, uri: string, config: resources.ResourceOptions, read: resources.ReadHandler): void {
    this.resources.add(uri, resources.buildResource(name, uri, config, read));
  }

  removeResource(uri: string): boolean {
    return this.resources.remove(uri);
  }

  /**
   * Adds resources by an RFC 6570 template. A URI that is not a listed resource is read by the first matching template.
   */
  registerResourceTemplate<V extends MaybeSchema = undefined, const T extends string = string>(
    name: string,
    uriTemplate: T,
    config: resources.TemplateOptions<V>,
    read: resources.TemplateHandler<V, T>,
  ): void {
    this.templates.add(uriTemplate, resources.buildTemplate(name, uriTemplate, config, read));
  }

  removeResourceTemplate(uriTemplate: string): boolean {
    return this.templates.remove(uriTemplate);
  }

  /**
   * Serves every URI that begins with prefix. Exact resources and templates take precedence, and so does a longer
   * prefix.
   */
  provide(prefix: string, provider: ResourceProvider): void {
    if (typeof prefix !== "string" || prefix === "")
      throw new TypeError(
        'a provider needs a prefix of its URIs, such as "notes://": write server.provide("notes://", …)',
      );
    if (provider instanceof Promise) throw new TypeError(`the provider of ${prefix} is a promise: await it`);
    if (!provider?.list || !provider.read) throw new TypeError(`the provider of ${prefix} needs list and read`);
    if (provider.skills && !provider.skill)
      throw new TypeError(`the provider of ${prefix} has skills, so it needs skill, too`);
    const fixed = provider[uriPrefix];
    if (fixed !== undefined && !fixed.startsWith(prefix)) {
      throw new TypeError(`the provider of ${prefix} has URIs that begin with ${fixed}: give both the same prefix`);
    }
    const updated = (uri: string) => this.resourceUpdated(uri);
    this.providers.add(prefix, new Provided(prefix, provider, updated, () => this.resourcesChanged()));
  }

  /** Adds a prompt. Errors are as those of reads. */
  registerPrompt<A extends MaybeSchema = undefined>(
    name: string,
    config: prompts.PromptConfig<A>,
    handler: prompts.PromptHandler<A>,
  ): void {
    this.prompts.add(name, prompts.buildPrompt(name, config, handler));
  }

  removePrompt(name: string): boolean {
    return this.prompts.remove(name);
  }

  /** Notifies watchers that the resources or templates have changed; for providers whose list changed. */
  resourcesChanged(): void {
    this.feeds.resources.publish("");
  }

  /** Notifies watchers of this URI, or of a parent (a URI ending in "/"), that it has changed. */
  resourceUpdated(uri: string): void {
    this.feeds.updates.publish(uri);
  }

  /** Ends all change feeds, so that a gRPC server can stop gracefully; new feeds fail. serve calls it. */
  close(): void {
    for (const feed of Object.values(this.feeds)) feed.close();
  }

  /** @internal The provider of a URI. */
  provider(uri: string): Provided | undefined {
    const fitting = this.providers.all().filter((p) => uri.startsWith(p.prefix));
    return fitting.sort((a, b) => b.prefix.length - a.prefix.length)[0];
  }

  /** @internal The reader of a URI: a resource, a template, a provider. Throws NOT_FOUND. */
  readable(uri: string): resources.Read {
    const entry = this.resources.get(uri) ?? this.templates.all().find((t) => t.template.match(uri));
    const found = entry ?? this.provider(uri);
    if (!found) throw noResource(uri);
    return found;
  }
}
