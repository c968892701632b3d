package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.mcpedge.capability.testing.Answer;
import io.mcpedge.capability.testing.TestClient;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** The errors that models and clients see, and the arguments that are refused. */
class ErrorsTest {
  record Args(String name, Optional<Inner> inner) {}

  record Inner(int n) {}

  record Picture(@Description("A PNG") @Limits(maxLength = 5) byte[] data, Optional<byte[]> mask) {}

  record Copy(byte[] data) {}

  record Token(UUID id) {}

  private final Capability s = new Capability("test", "1");

  /** NOT_FOUND of an existing tool is a tool error, for the model. An unknown tool is a protocol error. */
  @Test
  void notFoundOfAToolIsForTheModel() {
    s.tool("failure", "", call -> {
      throw new Exception("outside", new Failure(Reason.NOT_FOUND, "there is no report 7"));
    });
    s.tool("status", "", call -> {
      throw Status.NOT_FOUND.withDescription("there is no row 7").asRuntimeException();
    });
    s.resource("test://a", "a", "", (call, uri) -> {
      throw new Failure(Reason.NOT_FOUND, "there is no report 7");
    });
    try (var client = new TestClient(s)) {
      assertEquals("there is no report 7", client.callTool("failure").text());
      assertTrue(client.callTool("failure").isError());
      assertEquals("there is no row 7", client.callTool("status").text());
      assertEquals(Reason.NOT_FOUND, client.readResource("test://a").failure().reason());
      assertEquals(Reason.NOT_FOUND, client.callTool("none").failure().reason());
    }
  }

  /** Of these the edge makes results that are errors. */
  @Test
  void failuresThatTheModelSeesAreErrorsInTheKit() {
    for (Reason reason : Reason.values()) {
      var s = new Capability("test", "1");
      s.tool("fail", "", call -> {
        throw new Failure(reason, "no");
      });
      s.resource("test://a", "a", "", (call, uri) -> {
        throw new Failure(reason, "no");
      });
      try (var client = new TestClient(s)) {
        var out = client.callTool("fail");
        boolean seen = java.util.Set.of(Reason.INVALID_ARGUMENT, Reason.FAILED_PRECONDITION, Reason.NOT_FOUND).contains(reason);
        assertEquals(seen, out.isError(), reason.name());
        assertTrue(!seen || out.text().equals("no"), reason.name());
        assertFalse(client.readResource("test://a").isError(), reason.name());
      }
    }
  }

  /** With masked errors, only errors with a reason and the user's reaction are shown. */
  @Test
  void exceptionsAreMasked() {
    s.maskErrors(true);
    s.tool("plain", "", call -> {
      throw new IllegalStateException("secret");
    });
    s.tool("reason", "", call -> {
      throw new Failure(Reason.FAILED_PRECONDITION, "closed");
    });
    s.tool("asks", "", call -> call.ask("sure", "Sure?", boolean.class));
    s.prompt("p", "", call -> {
      throw new IllegalStateException("secret");
    });
    Logger log = Logger.getLogger("io.mcpedge.capability");
    log.setUseParentHandlers(false);
    try (var client = new TestClient(s).answer("sure", Answer.dismissed())) {
      assertEquals("tool plain failed by a fault of the service", client.callTool("plain").failure().getMessage());
      assertEquals("closed", client.callTool("reason").failure().getMessage());
      assertEquals("the user dismissed the question", client.callTool("asks").text());
      assertEquals("prompt p failed by a fault of the service", client.getPrompt("p", Map.of()).failure().getMessage());
    } finally {
      log.setUseParentHandlers(true);
    }
  }

  @Test
  void unknownArgumentsAreRefusedByName() {
    s.tool("t", "", Args.class, (call, in) -> in.toString());
    s.tool("none", "", call -> "");
    s.tool("open", "", Args.class, (call, in) -> in.name(), ToolOption.allowUnknownArguments());
    s.tool("map", "", Map.class, (call, in) -> in.toString());
    s.prompt("p", "", Map.class, (call, in) -> "");
    s.prompt("q", "", call -> "");
    try (var client = new TestClient(s)) {
      assertEquals("unknown argument \"nmae\": known are \"name\", \"inner\"", client.callTool("t", Map.of("nmae", 1)).failure().getMessage());
      assertEquals("unknown argument \"x\": there are none", client.callTool("none", Map.of("x", 1)).failure().getMessage());
      assertEquals("Args[name=a, inner=Optional[Inner[n=1]]]", client.callTool("t", Map.of("name", "a", "inner", Map.of("n", 1, "m", 2))).text());
      assertEquals("a", client.callTool("open", Map.of("name", "a", "x", 1)).text());
      assertEquals("{x=1}", client.callTool("map", Map.of("x", 1)).text());
      assertEquals(Reason.INVALID_ARGUMENT, client.getPrompt("q", Map.of("x", "1")).failure().reason());
    }
    assertFalse(Json.tree(s.tools.find("t").listed().getInputSchemaJson()).path("additionalProperties").asBoolean(true));
    assertTrue(Json.tree(s.tools.find("open").listed().getInputSchemaJson()).path("additionalProperties").isMissingNode());
    assertFalse(Json.tree(s.tools.find("none").listed().getInputSchemaJson()).path("additionalProperties").asBoolean(true));
  }

  /** Bytes are base64 in JSON, bounded, in arguments and in results. */
  @Test
  void bytesAreBase64() {
    s.tool("copy", "", Picture.class, Copy.class, (call, in) -> new Copy(in.data()));
    var schema = Json.tree(s.tools.find("copy").listed().getInputSchemaJson());
    assertEquals(Json.tree("{\"type\":\"string\",\"contentEncoding\":\"base64\",\"maxLength\":8,\"description\":\"A PNG\"}"), schema.at("/properties/data"));
    assertEquals(Json.tree("{\"type\":\"string\",\"contentEncoding\":\"base64\",\"maxLength\":1398104}"), schema.at("/properties/mask"));
    assertEquals(Json.tree("{\"type\":\"string\",\"contentEncoding\":\"base64\"}"),
        Json.tree(s.tools.find("copy").listed().getOutputSchemaJson()).at("/properties/data"));
    try (var client = new TestClient(s)) {
      assertEquals("{\"data\":\"AAH/\"}", client.callTool("copy", Map.of("data", new byte[] {0, 1, -1})).structured().text());
      String large = Base64.getEncoder().encodeToString(new byte[7]);
      for (String wrong : List.of("AAH", "AA\nH/AAA", "-_AA", "AAH=AAAA", large)) {
        var failure = client.callTool("copy", Map.of("data", wrong)).failure();
        assertEquals(Reason.INVALID_ARGUMENT, failure.reason(), wrong);
        assertEquals("the argument \"data\" must be base64 of at most 6 bytes: the standard alphabet, with padding, without line breaks", failure.getMessage());
      }
    }
  }

  /** A form that no client can show fails when it is created. */
  @Test
  void formatsThatNoClientKnowsAreRefused() {
    for (Class<?> type : List.of(Token.class, Copy.class, UUID.class)) {
      String message = assertThrows(DefinitionException.class, () -> Question.form("k", "m", type)).getMessage();
      assertTrue(message.contains("of a form: no client knows the format "), message);
    }
  }

  static final class Opaque {
    private final String number;

    Opaque(String number) {
      this.number = number;
    }

    String number() {
      return number;
    }
  }

  interface Receipt {}

  record Paper(int number) implements Receipt {}

  /** It is a protocol error: the model would call again, although the effect has happened. */
  @Test
  void valuesOfOnceAreOfJson() {
    var s = new Capability("test", "1");
    var effects = new java.util.concurrent.atomic.AtomicInteger();
    s.tool("opaque", "", call -> call.once("pay", Opaque.class, () -> new Opaque("" + effects.incrementAndGet())).number());
    s.tool("interface", "", call -> "" + call.once("pay", Receipt.class, () -> new Paper(effects.incrementAndGet())));
    s.tool("content", "", call -> call.once("pay", Content.class, () -> Content.text("" + effects.incrementAndGet())));
    s.tool("null", "", call -> "" + call.once("pay", int.class, () -> null));
    s.tool("list", "", call -> call.once("pay", Paper[].class, () -> new Paper[] {new Paper(7)})[0].number());
    try (var client = new TestClient(s)) {
      for (String tool : List.of("opaque", "interface", "content", "null")) {
        Failure failure = client.callTool(tool).failure();
        assertEquals(Reason.INTERNAL, failure.reason(), tool);
        assertTrue(failure.getMessage().startsWith("the value of once \"pay\" ") && failure.getMessage().contains("give a record"), failure.getMessage());
      }
      assertEquals(1, effects.get(), "only the values of Opaque show that Jackson does not read them");
      assertEquals("7", client.callTool("list").structured().text());
    }
  }
}
