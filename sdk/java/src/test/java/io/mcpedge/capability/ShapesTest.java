package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mcpedge.capability.testing.TestClient;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/** Return values of handlers: results of this library, of the official SDK, and other values. */
class ShapesTest {
  record Report(String title) {}

  static final class Hidden {
    final int value = 1;
  }

  private final Capability s = new Capability("test", "1");

  /** Results of the official SDK are accepted, so that an error reaches the model. */
  @Test
  void officialResultsOfToolsAreTaken() {
    s.tool("whole", "", call -> McpSchema.CallToolResult.builder().addTextContent("no such row").isError(true).build());
    s.tool("structured", "", call -> McpSchema.CallToolResult.builder().addTextContent("a").structuredContent(Map.of("n", 1)).meta(Map.of("m", 2)).build());
    s.tool("content", "", call -> McpSchema.TextContent.builder("a").build());
    s.tool("list", "", call -> List.of(McpSchema.TextContent.builder("a").build(), "b", Content.text("c")));
    s.tool("image", "", call -> McpSchema.ImageContent.builder("AAH/", "image/png").build());
    s.tool("map", "", call -> Map.of("content", List.of(Map.of("type", "text", "text", "a")), "isError", true));
    try (var client = new TestClient(s)) {
      assertEquals("no such row", client.callTool("whole").text());
      assertTrue(client.callTool("whole").isError());
      var structured = client.callTool("structured");
      assertEquals("{\"n\":1}", structured.structured().text());
      assertEquals(Map.of("m", 2), structured.result().meta());
      assertEquals("a", client.callTool("content").text());
      assertEquals("a\nb\nc", client.callTool("list").text());
      assertArrayEquals(new byte[] {0, 1, -1}, ((ImageContent) client.callTool("image").result().content().get(0)).data());
      assertTrue(client.callTool("map").isError());
    }
  }

  @Test
  void officialPromptsAndReadsAreTaken() {
    var text = McpSchema.TextContent.builder("Hi").build();
    var message = McpSchema.PromptMessage.builder(McpSchema.Role.ASSISTANT, text).build();
    s.prompt("whole", "", call -> McpSchema.GetPromptResult.builder(List.of(message)).description("d").build());
    s.prompt("messages", "", call -> List.of(message, "and", Content.text("you")));
    s.resource("test://whole", "a", "text/plain",
        (call, uri) -> McpSchema.ReadResourceResult.builder(List.of(McpSchema.TextResourceContents.builder(uri, "t").build())).build());
    s.resource("test://blob", "b", "", (call, uri) -> McpSchema.BlobResourceContents.builder(uri, "AAH/").mimeType("image/png").build());
    s.resource("test://map", "c", "", (call, uri) -> Map.of("contents", List.of(Map.of("uri", uri, "text", "t"))));
    s.resource("test://wrong", "d", "", (call, uri) -> Map.of("a", 1));
    try (var client = new TestClient(s)) {
      var prompt = client.getPrompt("whole", Map.of()).promptResult();
      assertEquals("d", prompt.description());
      assertEquals(List.of(Content.assistant(Content.text("Hi"))), prompt.messages());
      assertEquals(List.of(Role.ASSISTANT, Role.USER, Role.USER), client.getPrompt("messages", Map.of()).promptResult().messages().stream().map(PromptMessage::role).toList());
      var read = client.readResource("test://whole").readResult().contents().get(0);
      assertEquals("t", read.text());
      assertEquals("text/plain", read.mimeType());
      assertArrayEquals(new byte[] {0, 1, -1}, ((BlobResourceContents) client.readResource("test://blob").readResult().contents().get(0)).blob());
      assertEquals("t", client.readResource("test://map").readResult().contents().get(0).text());
      assertTrue(client.readResource("test://wrong").failure().getMessage().contains("return a String, a byte[], ResourceContents or a ReadResult"));
    }
  }

  /** A value that is neither a result nor clearly a value fails at once, with what to write. */
  @Test
  void whatIsNoResultSaysWhatToWrite() {
    List<Object> one = new ArrayList<>(List.of(Content.text("a")));
    one.add(1);
    for (var wrong : Map.<String, Object>of(
        "beside members of a result of a tool, which has content, structuredContent, isError, _meta: for a value, return Result.structured(…)",
        Map.of("content", List.of(), "rows", 1),
        "whose \"content\" is, in a result of a tool, a list of content", Map.of("content", "a"),
        "a byte[], which has no kind: give Content.image", new byte[] {1},
        "a list of content with a Integer in it", one,
        "of Reactor: give its value, as block() returns it", Mono.just("a"),
        "which can be read once: give a List, as toList() makes it", Stream.of(1),
        "has no members that Jackson writes: give a record, or a class with getters", new Hidden(),
        "a TextContent is no value of JSON: return it as content, in a List or a Result", Map.of("a", Content.text("a")),
        "a TextResourceContents, which is no result of a tool", Content.contents("a://b", "", "a"),
        "content of the type \"video\", which MCP has not", Map.of("content", List.of(Map.of("type", "video")))).entrySet()) {
      s.tool("t", "", call -> wrong.getValue());
      try (var client = new TestClient(s)) {
        var failure = client.callTool("t").failure();
        assertEquals(Reason.INTERNAL, failure.reason());
        assertTrue(failure.getMessage().startsWith("tool t returned ") && failure.getMessage().contains(wrong.getKey()), failure.getMessage());
      }
      s.removeTool("t");
    }
  }

  /** Futures and Optionals are replaced by their values. */
  @Test
  void futuresAndOptionalsAreTheirValues() {
    s.tool("future", "", call -> CompletableFuture.supplyAsync(() -> "a"));
    s.tool("failed", "", call -> CompletableFuture.failedFuture(new IllegalStateException("closed")));
    s.tool("optional", "", call -> Optional.of(Result.error("no")));
    s.tool("empty", "", call -> Optional.empty());
    s.tool("array", "", call -> new Content[] {Content.text("a")});
    s.tool("set", "", call -> java.util.Set.of(McpSchema.TextContent.builder("a").build()));
    s.tool("builder", "", call -> new StringBuilder("a"));
    s.prompt("future", "", call -> CompletableFuture.completedFuture("a"));
    s.resource("test://future", "f", "", (call, uri) -> CompletableFuture.completedFuture("a"));
    s.resource("test://empty", "e", "", (call, uri) -> Optional.empty());
    assertThrows(DefinitionException.class, () -> s.resource("test://swapped", "text/plain", "swapped", (call, uri) -> ""));
    try (var client = new TestClient(s)) {
      assertEquals("a", client.callTool("future").text());
      assertEquals("closed", client.callTool("failed").text());
      for (String name : List.of("array", "set", "builder")) {
        assertEquals(List.of(Content.text("a")), client.callTool(name).result().content(), name);
      }
      assertEquals("a", client.getPrompt("future", Map.of()).promptResult().messages().get(0).content().text());
      assertEquals("a", client.readResource("test://future").readResult().contents().get(0).text());
      assertEquals(Reason.NOT_FOUND, client.readResource("test://empty").failure().reason());
      assertTrue(client.callTool("optional").isError());
      assertEquals(List.of(), client.callTool("empty").result().content());
    }
  }

  /** A result type without structured content has no schema, and one that cannot be a result is refused when it is defined. */
  @Test
  void typesOfResultsAreChecked() {
    s.tool("text", "", Map.class, String.class, (call, in) -> "a");
    s.tool("result", "", Map.class, McpSchema.CallToolResult.class, (call, in) -> McpSchema.CallToolResult.builder().addTextContent("a").build());
    s.tool("report", "", Map.class, Report.class, (call, in) -> new Report("a"));
    try (var client = new TestClient(s)) {
      assertEquals("a", client.callTool("text").text());
      assertEquals("a", client.callTool("result").text());
      assertEquals(new Report("a"), client.callTool("report").structured(Report.class));
    }
    assertEquals("", s.tools.find("text").listed().getOutputSchemaJson());
    for (Class<?> wrong : List.of(byte[].class, Mono.class, CompletableFuture.class, Stream.class, Optional.class, ReadResult.class)) {
      var e = assertThrows(DefinitionException.class, () -> s.tool("w", "", Map.class, wrong, (call, in) -> null));
      assertTrue(e.getMessage().startsWith("tool w has as the type of its result a "), e.getMessage());
    }
  }

  /** Swapped arguments, or a file extension as MIME type, are refused: hosts would refuse the result or show nothing. */
  @Test
  void aKindIsAMimeType() {
    s.tool("image", "", call -> Content.image(new byte[1], "png"));
    s.tool("sound", "", call -> List.of("a", Content.audio(new byte[1], "wav")));
    s.tool("official", "", call -> McpSchema.ImageContent.builder("AAH/", "png").build());
    s.prompt("picture", "", call -> Content.image(new byte[1], "png"));
    try (var client = new TestClient(s)) {
      String wanted = "an image has the MIME type \"png\", which has no slash: give one such as image/png";
      assertEquals(wanted, client.callTool("image").failure().getMessage());
      assertEquals(Reason.INTERNAL, client.callTool("image").failure().reason());
      assertEquals("a sound has the MIME type \"wav\", which has no slash: give one such as audio/wav", client.callTool("sound").failure().getMessage());
      assertEquals(wanted, client.callTool("official").failure().getMessage());
      assertEquals(wanted, client.getPrompt("picture", Map.of()).failure().getMessage());
    }
  }
}
