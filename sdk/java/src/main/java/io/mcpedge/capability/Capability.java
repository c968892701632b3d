package io.mcpedge.capability;

import io.grpc.*;
import io.mcpedge.v1.CacheHint;
import io.opentelemetry.api.OpenTelemetry;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.*;

/**
 * A service's tools, resources and prompts, served by the gRPC contract. They may be added and removed at any time, from any
 * thread: watchers are notified. An invalid definition throws DefinitionException when it is added. Set the service's description
 * before it is served.
 */
public final class Capability {
  final io.mcpedge.v1.Implementation.Builder info;
  String instructions = "";
  final Map<String, String> extensions = new ConcurrentHashMap<>();
  CacheHint listCache;
  boolean announced;
  Duration grace = Duration.ofSeconds(10);
  private OpenTelemetry telemetry;
  private boolean maskErrors;
  private Identities identities;
  private Executor executor = Executors.newCachedThreadPool(r -> {
    Thread thread = new Thread(r, "handler");
    thread.setDaemon(true);
    return thread;
  });

  final Feed toolFeed = new Feed(r -> this.executor.execute(r));
  final Feed promptFeed = new Feed(r -> this.executor.execute(r));
  final Feed resourceFeed = new Feed(r -> this.executor.execute(r));
  final Feed updates = new Feed(r -> this.executor.execute(r));
  final Registry<Tools.Entry> tools = new Registry<>("tool", toolFeed);
  final Registry<Prompts.Entry> prompts = new Registry<>("prompt", promptFeed);
  final Registry<Resources.Entry> resources = new Registry<>("resource", resourceFeed);
  final Registry<Resources.Template> templates = new Registry<>("template", resourceFeed);
  final List<Provided> providers = new CopyOnWriteArrayList<>();
  final Map<String, CancelHandler> cancels = new ConcurrentHashMap<>();
  private final Rounds.Running running = new Rounds.Running();

  /** Name and version are shown to operators, and to clients if this is the edge's only backend. */
  public Capability(String name, String version) {
    Bridged.install();
    info = io.mcpedge.v1.Implementation.newBuilder().setName(name).setVersion(version);
  }

  /** The service's name for people. */
  public Capability title(String title) {
    info.setTitle(title);
    return this;
  }

  /** A description of the service for people. */
  public Capability description(String text) {
    info.setDescription(text);
    return this;
  }

  public Capability website(String url) {
    info.setWebsiteUrl(url);
    return this;
  }

  public Capability icons(Icon... icons) {
    info.addAllIcons(Wire.icons(List.of(icons)));
    return this;
  }

  /** Explains this service to the model. MCP: instructions. */
  public Capability instructions(String text) {
    instructions = text;
    return this;
  }

  /** Announces a protocol extension by its id, with its settings: a JSON object. MCP: capabilities.extensions. */
  public Capability extension(String id, String settings) {
    Json.object("the settings of extension " + id, settings);
    extensions.put(id, settings);
    return this;
  }

  /** How long clients may cache the lists (0 to 30 days), and whether callers may share them. By default they may not. */
  public Capability listCache(Duration ttl, boolean shared) {
    listCache = Call.cacheHint(ttl, shared);
    return this;
  }

  /** Announces tools, resources and prompts even if there are none when the edge connects. */
  public Capability announceAll() {
    announced = true;
    return this;
  }

  /** How long running calls have when the service stops; the default is 10 s. */
  public Capability grace(Duration grace) {
    this.grace = grace;
    return this;
  }

  /** The OpenTelemetry for spans; the default is the global one at the time of the first call. */
  public Capability telemetry(OpenTelemetry telemetry) {
    this.telemetry = telemetry;
    return this;
  }

  /**
   * Hides the message of every exception of a handler that has no reason, as faults of the program are hidden. {@link Failure}, the
   * status of a gRPC call and {@link Unanswered} are shown.
   */
  public Capability maskErrors(boolean mask) {
    maskErrors = mask;
    return this;
  }

  /**
   * Refuses calls of tools, reads, prompts and completions without an identity that the edge has signed, with UNAUTHENTICATED, whatever
   * the connection is; {@link Call#principal} is then the verified caller. Lists and watches need none.
   */
  public Capability identity(Identities identities) {
    this.identities = identities;
    return this;
  }

  /**
   * The executor of handlers, each of which blocks a thread; by default threads are created on demand. With Java 21 {@code
   * Executors.newVirtualThreadPerTaskExecutor()} is suitable.
   */
  public Capability executor(Executor executor) {
    this.executor = executor;
    return this;
  }

  /**
   * Adds a tool by a function without arguments. The returned value determines the result: a String, {@link Content} or a List of
   * it is content; null is an empty result; a {@link Result} is the complete result; anything else is structured content
   * without a schema.
   *
   * <p>An exception becomes a result with {@code isError} and its message, which a model can act on. A {@link Failure} and the
   * status of a gRPC call keep their kind, except NOT_FOUND, which is for the model, too. A fault of the program (an Error, NullPointerException, ClassCastException … of Java
   * itself) is INTERNAL, and its text is only logged.
   */
  public Capability tool(String name, String description, Handler<?> handler, ToolOption... options) {
    return tool(name, description, None.class, handler == null ? null : (call, none) -> handler.call(call), options);
  }

  /** The arguments of tools and prompts without arguments. */
  private record None() {}

  /**
   * Adds a tool with arguments: a record, whose components are described by {@link Description}, {@link Limits} and {@link
   * Default}. Components are required unless they are an Optional or have a default. A Map, or a {@link RawJson} with {@link
   * ToolOption#inputSchema}, is possible, too.
   */
  public <A> Capability tool(String name, String description, Class<A> arguments, ToolHandler<A, ?> handler, ToolOption... options) {
    return add(Tools.of(name, description, arguments, null, handler, options), handler);
  }

  /** Adds a tool with arguments and structured content of a type, from which the output schema is generated. */
  public <A, R> Capability tool(
      String name, String description, Class<A> arguments, Class<R> result, ToolHandler<A, ? extends R> handler, ToolOption... options) {
    return add(Tools.of(name, description, arguments, result, handler, options), handler);
  }

  /**
   * Adds a tool by its description, with unchanged schemas (an empty input schema accepts any object); the handler gets unchanged
   * arguments.
   */
  public Capability rawTool(Tool tool, ToolHandler<RawJson, Result> handler, ToolOption... options) {
    return add(Tools.raw(tool, handler, options), handler);
  }

  Capability add(Tools.Entry tool, ToolHandler<?, ?> handler) {
    tools.add(tool.listed().getName(), tool, handler);
    return this;
  }

  /** Removes a tool, and returns whether it existed. Running calls continue. */
  public boolean removeTool(String name) {
    return tools.remove(name);
  }

  /**
   * Sets a function that is called when a task of the named tool was cancelled between two rounds, with the call's state and id,
   * so that it can end the job of the task. A running round is interrupted instead. The notification may be lost.
   */
  public Capability onCancel(String tool, CancelHandler handler) {
    DefinitionException.unlessGiven("the handler of cancellations of tool " + Json.quote(tool), handler);
    cancels.put(tool, handler);
    return this;
  }

  /** The function of {@link #onCancel}. */
  @FunctionalInterface
  public interface CancelHandler {
    void cancelled(Call call) throws Exception;
  }

  /** Adds a resource. The MIME type may be empty. */
  public Capability resource(String uri, String name, String mimeType, ResourceHandler read) {
    return resource(Resource.builder().uri(uri).name(name).mimeType(mimeType).build(), read);
  }

  public Capability resource(Resource resource, ResourceHandler read) {
    resources.add(resource.uri(), Resources.entry(resource, read), read);
    return this;
  }

  public boolean removeResource(String uri) {
    return resources.remove(uri);
  }

  /** Adds resources by an RFC 6570 template: a URI that is no resource is read by the first matching template. */
  public Capability template(String uriTemplate, String name, String mimeType, TemplateHandler read, Complete... completes) {
    return template(ResourceTemplate.builder().uriTemplate(uriTemplate).name(name).mimeType(mimeType).build(), read, completes);
  }

  public Capability template(ResourceTemplate template, TemplateHandler read, Complete... completes) {
    templates.add(template.uriTemplate(), Resources.template(template, read == null ? null : (call, uri, variables) -> read.read(call, variables), completes), read);
    return this;
  }

  /** Adds a template whose handler gets the URI, too. */
  void add(ResourceTemplate template, Resources.TemplateReader read, Complete... completes) {
    templates.add(template.uriTemplate(), Resources.template(template, read, completes), read);
  }

  public boolean removeTemplate(String uriTemplate) {
    return templates.remove(uriTemplate);
  }

  /** Serves every URI that begins with a prefix. Exact resources and templates take precedence, and so does a longer prefix. */
  public Capability provide(String prefix, ResourceProvider provider) {
    DefinitionException.unlessGiven("the provider of " + Json.quote(prefix), provider);
    if (prefix.isEmpty() || providers.stream().anyMatch(p -> p.prefix.equals(prefix))) {
      throw new DefinitionException("the prefix " + Json.quote(prefix) + " of a provider is empty or taken; give one such as notes://");
    }
    providers.add(new Provided(prefix, provider, this::resourceUpdated, this::resourcesChanged));
    resourcesChanged();
    return this;
  }

  /** Adds a prompt without arguments. It returns a String, a PromptMessage, a List of them, or a {@link PromptResult}. */
  public Capability prompt(String name, String description, Handler<?> handler) {
    return prompt(name, description, None.class, handler == null ? null : (call, none) -> handler.call(call));
  }

  /** Adds a prompt with arguments: a record of Strings, enums and Optionals of them. */
  public <A> Capability prompt(String name, String description, Class<A> arguments, ToolHandler<A, ?> handler, Complete... completes) {
    prompts.add(name, Prompts.of(name, description, arguments, handler, completes), handler);
    return this;
  }

  /** Adds a prompt by its description. The handler gets the arguments by name; required ones are present. */
  public Capability prompt(Prompt prompt, ToolHandler<Map<String, String>, ?> handler, Complete... completes) {
    prompts.add(prompt.name(), Prompts.raw(prompt, handler, completes), handler);
    return this;
  }

  public boolean removePrompt(String name) {
    return prompts.remove(name);
  }

  /** Notifies watchers that the list of a provider's resources or templates has changed. */
  public void resourcesChanged() {
    resourceFeed.publish("");
  }

  /** Notifies watchers of this URI, or of a parent (a URI ending in "/"), that it has changed. */
  public void resourceUpdated(String uri) {
    updates.publish(uri);
  }

  /** The services of the contract, for your own gRPC server. Call {@link #close} before it stops. */
  public List<ServerServiceDefinition> services() {
    var tracing = new Tracing(telemetry);
    var rounds = new Rounds(executor, tracing, running, maskErrors, identities);
    List<BindableService> all =
        List.of(new BackendService(this), new ToolService(this, rounds), new ResourceService(this, rounds), new PromptService(this, rounds));
    return all.stream().map(s -> ServerInterceptors.intercept(s, tracing, Identities.HEADERS)).toList();
  }

  /** Ends the open change feeds. A server that stops would wait for them. */
  public void close() {
    List.of(toolFeed, promptFeed, resourceFeed, updates).forEach(Feed::close);
  }

  /** Ends the running calls. */
  void endCalls() {
    running.end();
  }

  /**
   * A complete main program: it parses the command line ({@code --listen}, and TLS by {@code --tls-cert}, {@code --tls-key} and
   * {@code --tls-client-ca}), logs to standard error as JSON, serves until SIGTERM or SIGINT, and stops gracefully. It exits with
   * status 1 if serving fails, and with 2 if the command line is invalid.
   */
  public void serve(String... argv) {
    Program.run(this, argv);
  }

  /** Serves on host:port or unix:/path, in plaintext, until it is closed. */
  public Serving start(String address) throws IOException {
    return Serving.start(this, address, null);
  }
}
