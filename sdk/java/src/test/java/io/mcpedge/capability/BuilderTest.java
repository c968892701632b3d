package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mcpedge.capability.testing.TestClient;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.ai.tool.annotation.ToolParam;

/** A server as it is written with the official SDK. */
class BuilderTest {
  /** An annotation of the name that several libraries use; it is read by its name. */
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.TYPE_USE)
  @interface Nullable {}

  record Args(@ToolParam(description = "Whom to greet") String name, @ToolParam(required = false) Integer times, @Nullable String mood) {}

  private static McpServer.Builder builder() {
    return McpServer.builder().serverInfo("test", "1").instructions("Greets.");
  }

  @Test
  void handlersGetRequests() {
    Tool greet = Tool.builder().name("greet").description("Greets").inputSchema(Args.class).build();
    Capability s = builder()
        .toolCall(greet, (call, request) -> Result.builder().addTextContent("Hello, " + request.arguments().get("name")).isError(false).build(), ToolOption.readOnly())
        .toolCall(Tool.builder().name("typed").inputSchema(Args.class).build(), (call, request) -> request.arguments(Args.class).toString())
        .tool("record", "", Args.class, (call, in) -> in.name())
        .resource(Resource.builder().uri("test://a").name("a").build(), (call, request) -> request.uri())
        .resourceTemplate(ResourceTemplate.builder().uriTemplate("test://b/{id}").name("b").build(),
            (call, request) -> request.uri() + " " + request.variables().get("id"), Complete.suggest("id", "one", "two"))
        .prompt(Prompt.builder().name("p").arguments(new PromptArgument("mood", "How", true)).build(),
            (call, request) -> new PromptResult("d", List.of(new PromptMessage(Role.USER, Content.text(request.name() + " " + request.arguments().get("mood"))))))
        .build();
    try (var client = new TestClient(s)) {
      assertEquals("Hello, Ada", client.callTool("greet", Map.of("name", "Ada")).text());
      assertEquals("Args[name=Ada, times=null, mood=null]", client.callTool("typed", Map.of("name", "Ada")).text());
      assertEquals(Reason.INVALID_ARGUMENT, client.callTool("typed", Map.of("name", 1)).failure().reason());
      assertEquals("Ada", client.callTool("record", Map.of("name", "Ada")).text());
      assertEquals("test://a", client.readResource("test://a").readResult().contents().get(0).text());
      assertEquals("test://b/two two", client.readResource("test://b/two").readResult().contents().get(0).text());
      assertEquals(List.of("two"), client.complete("test://b/{id}", "id", "t"));
      assertEquals("p calm", client.getPrompt("p", Map.of("mood", "calm")).promptResult().messages().get(0).content().text());
    }
    var schema = Json.tree(s.tools.find("greet").listed().getInputSchemaJson());
    assertEquals("Whom to greet", schema.at("/properties/name/description").asText());
    assertEquals("[\"name\"]", schema.path("required").toString());
    assertTrue(s.tools.find("greet").listed().getAnnotations().getReadOnly());
  }

  /** A missing or invalid part fails when it is added, with what to write. */
  @Test
  void misuseFailsAtDefinition() {
    for (var wrong : Map.<String, Runnable>of(
        "a server needs a name and a version: write .serverInfo(\"name\", \"1.0.0\")", () -> McpServer.builder().build(),
        "tool name \"a b\": use 1 to 64 of A-Z a-z 0-9 _ . -", () -> builder().toolCall(new Tool("a b", "", ""), (call, request) -> ""),
        "the handler of tool \"a\" is null; give one", () -> builder().toolCall(new Tool("a", "", ""), null),
        "the name of a tool is null; give one", () -> Tool.builder().build(),
        "schemas of tool a must be a JSON object, not []", () -> new Tool("a", "", "[]"),
        "the text of content is null; give one", () -> Content.text(null),
        "a request to a model needs messages, and maxTokens of 1 or more, not 1000", () -> SamplingRequest.builder().build()).entrySet()) {
      assertEquals(wrong.getKey(), assertThrows(IllegalArgumentException.class, wrong.getValue()::run, wrong.getKey()).getMessage());
    }
  }
}
