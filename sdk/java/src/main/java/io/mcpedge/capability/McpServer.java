package io.mcpedge.capability;

import java.util.Map;

/**
 * Builds a {@link Capability} as the official SDK builds a server: from descriptions, and handlers of requests by the client. There are
 * no transports and no capabilities to set: the edge has the transports, and announces what there is.
 *
 * <pre>{@code
 * McpServer.builder()
 *     .serverInfo("hello", "1.0.0")
 *     .toolCall(Tool.builder().name("greet").description("Greets someone").inputSchema(Args.class).build(),
 *         (call, request) -> Result.of(Content.text("Hello, " + request.arguments(Args.class).name())))
 *     .build()
 *     .serve(argv);
 * }</pre>
 */
public final class McpServer {
  private McpServer() {}

  public static Builder builder() {
    return new Builder();
  }

  /**
   * A call of a tool.
   *
   * @param arguments as the client sent them; numbers with a fraction are BigDecimals
   */
  public record CallToolRequest(String name, Map<String, Object> arguments, RawJson json) {
    /** The arguments read as a type, such as a record. Throws Failure INVALID_ARGUMENT if they do not fit. */
    public <A> A arguments(Class<A> type) {
      return new Arguments<>(type, Schemas.ofArguments("tool " + name, type)).read(json.text());
    }
  }

  /**
   * A read.
   *
   * @param variables those of the URI template, decoded; variables that the URI omits are absent
   */
  public record ReadResourceRequest(String uri, Map<String, String> variables) {}

  /** A request for a prompt. */
  public record GetPromptRequest(String name, Map<String, String> arguments) {}

  /** Builds the server. Methods that add an invalid definition throw DefinitionException. */
  public static final class Builder {
    private final Capability capability = new Capability("", "");

    private Builder() {}

    /** The name and version of the server; required. */
    public Builder serverInfo(String name, String version) {
      return serverInfo(new Implementation(name, version));
    }

    /** The name and version of the server, with a title, a description, a website and icons. */
    public Builder serverInfo(Implementation info) {
      capability.info.clear().mergeFrom(Wire.implementation(info));
      return this;
    }

    /** Explains the server to the model. */
    public Builder instructions(String text) {
      capability.instructions(text);
      return this;
    }

    /**
     * Adds a tool by its description. The handler returns what {@link Capability#tool} describes: a Result, content, a String, or
     * results of the official SDK.
     */
    public Builder toolCall(Tool tool, ToolHandler<CallToolRequest, ?> handler, ToolOption... options) {
      DefinitionException.unlessGiven("the handler of tool " + Json.quote(tool.name()), handler);
      capability.add(Tools.raw(tool, (call, json) -> {
        @SuppressWarnings("unchecked") // an object of JSON
        Map<String, Object> arguments = json.as(Map.class);
        return Tools.resultOf("tool " + tool.name(), handler.call(call, new CallToolRequest(tool.name(), arguments, json)));
      }, options), handler);
      return this;
    }

    /** Adds a tool whose arguments are a record. */
    public <A> Builder tool(String name, String description, Class<A> arguments, ToolHandler<A, ?> handler, ToolOption... options) {
      capability.tool(name, description, arguments, handler, options);
      return this;
    }

    /** Adds a resource. The handler returns what {@link ResourceHandler} describes. */
    public Builder resource(Resource resource, ToolHandler<ReadResourceRequest, ?> handler) {
      DefinitionException.unlessGiven("the handler of resource " + Json.quote(resource.uri()), handler);
      capability.resource(resource, (call, uri) -> handler.call(call, new ReadResourceRequest(uri, Map.of())));
      return this;
    }

    /** Adds resources by a URI template. */
    public Builder resourceTemplate(ResourceTemplate template, ToolHandler<ReadResourceRequest, ?> handler, Complete... completes) {
      DefinitionException.unlessGiven("the handler of template " + Json.quote(template.uriTemplate()), handler);
      capability.add(template, (call, uri, variables) -> handler.call(call, new ReadResourceRequest(uri, variables)), completes);
      return this;
    }

    /** Adds a prompt. The handler returns a String, a PromptMessage, a List of them, or a PromptResult. */
    public Builder prompt(Prompt prompt, ToolHandler<GetPromptRequest, ?> handler, Complete... completes) {
      DefinitionException.unlessGiven("the handler of prompt " + Json.quote(prompt.name()), handler);
      capability.prompt(prompt, (call, arguments) -> handler.call(call, new GetPromptRequest(prompt.name(), arguments)), completes);
      return this;
    }

    /** The server, for {@link Capability#serve} and {@link Capability#start}; its other settings are methods of it. */
    public Capability build() {
      if (capability.info.getName().isEmpty() || capability.info.getVersion().isEmpty()) {
        throw new DefinitionException("a server needs a name and a version: write .serverInfo(\"name\", \"1.0.0\")");
      }
      return capability;
    }
  }
}
