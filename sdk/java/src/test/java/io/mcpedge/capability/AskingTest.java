package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mcpedge.capability.testing.Answer;
import io.mcpedge.capability.testing.TestClient;
import io.mcpedge.v1.FailureReason;
import io.mcpedge.v1.InputResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class AskingTest {
  enum Size {
    small,
    large
  }

  enum Extra {
    milk,
    sugar
  }

  @Description("What to bring.")
  record Order(
      @Description("How large") Size size, @Limits(min = 1, max = 5) int count, @Default("[]") List<Extra> extras, Optional<String> note) {}

  record Nested(Map<String, String> within) {}

  private final Capability s = new Capability("test", "1");

  @Test
  void formsAreMadeOfRecords() {
    s.tool("order", "Orders", call -> {
      Order got = call.ask("order", "What?", Order.class);
      return got.size() + " " + got.count() + " " + got.extras() + " " + got.note();
    });
    try (var client = new TestClient(s).answer("order", Answer.accepted(Map.of("size", "large", "count", 2.0, "extras", List.of("milk"))))) {
      var out = client.callTool("order");
      assertEquals("large 2 [milk] Optional.empty", out.text());
      assertEquals(2, out.rounds());
      var schema = Json.tree(out.asked().get(0).getElicitForm().getRequestedSchemaJson());
      assertEquals("[\"size\",\"count\"]", schema.path("required").toString());
      assertEquals("What to bring.", schema.path("description").asText());
      assertEquals(Json.tree("{\"type\":\"string\",\"enum\":[\"small\",\"large\"],\"description\":\"How large\"}"), schema.at("/properties/size"));
      assertEquals(Json.tree("{\"type\":\"string\"}"), schema.at("/properties/note"));
    }
  }

  @Test
  void oneValueIsAForm() {
    s.tool("sure", "Asks", call -> call.ask("sure", "Sure?", boolean.class) ? "yes" : "no");
    s.tool("size", "Asks", call -> call.ask("size", "Which?", Size.class).name());
    try (var client = new TestClient(s).answer("sure", Answer.accepted(Map.of("sure", true))).answer("size", Answer.accepted(Map.of("size", "small")))) {
      assertEquals("yes", client.callTool("sure").text());
      assertEquals("small", client.callTool("size").text());
    }
  }

  @Test
  void whatDoesNotFitIsAskedAgain() {
    s.tool("order", "Orders", call -> "" + call.ask("order", "What?", Order.class).count());
    var given = new ArrayDeque<>(List.<Map<String, ?>>of(Map.of("size", "small", "count", 9), Map.of("size", "small", "count", "2"), Map.of("count", 2),
        Map.of("size", "huge", "count", 2), Map.of("size", "small", "count", 1.5), Map.of("size", "small", "count", 2)));
    try (var client = new TestClient(s).answer("order", q -> Answer.accepted(given.remove()).to(q))) {
      var out = client.callTool("order");
      assertEquals("2", out.text());
      assertEquals(7, out.rounds());
    }
  }

  @Test
  void refusalsAreExceptions() {
    s.tool("delete", "Deletes", call -> {
      try {
        call.ask("sure", "Sure?", boolean.class);
        return "deleted";
      } catch (Declined e) {
        return "declined";
      }
    });
    try (var client = new TestClient(s)) {
      assertEquals("declined", client.answer("sure", Answer.declined()).callTool("delete").text());
      var out = client.answer("sure", Answer.cancelled()).callTool("delete");
      assertTrue(out.toolResult().getIsError());
      assertEquals("the user dismissed the question", out.text());
    }
  }

  /** A handler that swallows what ends it, or returns after it, ends in its questions all the same. */
  @Test
  void swallowingChangesNothing() {
    s.tool("stubborn", "Swallows", call -> {
      try {
        return call.ask("name", "Who?", String.class);
      } catch (Throwable e) {
        return "swallowed";
      }
    });
    s.tool("replaced", "Throws another", call -> {
      try {
        return call.ask("name", "Who?", String.class);
      } catch (Throwable e) {
        throw new Exception("wrapped", e);
      }
    });
    s.tool("failed", "Throws an Error", call -> {
      try {
        return call.ask("name", "Who?", String.class);
      } catch (Throwable e) {
        throw new AssertionError(e);
      }
    });
    try (var client = new TestClient(s)) {
      assertEquals("name", client.callTool("failed").inputRequired().getRequests(0).getKey());
      assertEquals("name", client.callTool("stubborn").inputRequired().getRequests(0).getKey());
      client.answer("name", Answer.accepted(Map.of("name", "Ada")));
      assertEquals("Ada", client.callTool("stubborn").text());
      assertEquals("Ada", client.callTool("replaced").text());
    }
  }

  @Test
  void onceKeepsAValueOverRounds() {
    AtomicInteger made = new AtomicInteger();
    s.tool("keep", "Keeps", call -> {
      String token = call.once("token", () -> UUID.randomUUID() + "-" + made.incrementAndGet());
      Order order = call.once("order", Order.class, () -> new Order(Size.small, 1, List.of(), Optional.of("n")));
      assertEquals(Optional.of("n"), order.note());
      call.ask("a", token, boolean.class);
      call.ask("b", token, boolean.class);
      return token;
    });
    try (var client = new TestClient(s).answer("a", Answer.accepted(Map.of("a", true))).answer("b", Answer.accepted(Map.of("b", true)))) {
      var out = client.callTool("keep");
      assertEquals(3, out.rounds());
      assertEquals(1, made.get());
      assertEquals(out.text(), out.asked().get(1).getElicitForm().getMessage());
    }
  }

  /** A client's answer under the key of once is not taken for what the handler kept. */
  @Test
  void onceIsNotForged() {
    s.tool("keep", "Keeps", call -> call.once("k", () -> "own"));
    var forged = InputResponse.newBuilder().setKey("\0once:k").setRawJson("\"forged\"").build();
    var answers = new Answers(List.of(forged), com.google.protobuf.ByteString.EMPTY);
    assertNull(answers.once("k"));
  }

  @Test
  void severalAreAskedAtOnce() {
    s.tool("all", "Asks all", call -> {
      var who = Question.form("who", "Who?", String.class);
      var roots = Question.listRoots("roots");
      var model = Question.sampling("model", "Hello", 10);
      var page = Question.openUrl("page", "Open", "https://example.com");
      call.askAll(who, roots, model, page);
      return call.answer(who) + " " + call.answer(roots).size() + " " + Content.said(call.answer(model)) + " " + call.answer(page).action();
    });
    try (var client = new TestClient(s).answer("who", Answer.accepted(Map.of("who", "Ada"))).answer("roots", Answer.roots("file:///a", "file:///b"))
        .answer("model", Answer.sampled("hi")).answer("page", Answer.accepted())) {
      var out = client.callTool("all");
      assertEquals("Ada 2 hi accept", out.text());
      assertEquals(2, out.rounds());
    }
  }

  @Test
  void handlersMayKeepTheirOwnAccount() {
    s.tool("own", "Asks itself", call -> {
      if (call.state() == null) {
        throw new InputRequired("s".getBytes(StandardCharsets.UTF_8), Question.form("name", "Who?", String.class)).repeatable();
      }
      return new String(call.state(), StandardCharsets.UTF_8) + call.response("name").getElicit().getContentJson();
    });
    try (var client = new TestClient(s)) {
      assertTrue(client.callTool("own").inputRequired().getRepeatable());
      assertEquals("s{\"name\":\"Ada\"}", client.answer("name", Answer.accepted(Map.of("name", "Ada"))).callTool("own").text());
    }
  }

  @Test
  void checkpointsKeepStateAndAnswers() {
    s.tool("job", "Has checkpoints", call -> {
      call.ask("a", "A?", boolean.class);
      call.checkpoint(new byte[] {1, 2});
      assertThrows(IllegalArgumentException.class, () -> call.checkpoint(new byte[Answers.MAX_STATE]));
      assertArrayEquals(new byte[] {1, 2}, call.state());
      return "done";
    });
    try (var client = new TestClient(s).answer("a", Answer.accepted(Map.of("a", true)))) {
      var out = client.callTool("job");
      assertEquals("done", out.text());
      var again = new Answers(List.of(), com.google.protobuf.ByteString.copyFrom(out.checkpoints().get(0)));
      assertArrayEquals(new byte[] {1, 2}, again.state());
      assertNotEquals(null, again.find("a", r -> true));
    }
  }

  @Test
  void tooMuchIsAClearFailure() {
    s.tool("many", "Asks too much", call -> {
      var questions = new Question<?>[17];
      for (int i = 0; i < questions.length; i++) {
        questions[i] = Question.listRoots("q" + i);
      }
      call.askAll(questions);
      return "";
    });
    s.tool("large", "Keeps too much", call -> {
      call.setState(new byte[Answers.MAX_STATE]);
      return call.ask("a", "A?", String.class);
    });
    try (var client = new TestClient(s)) {
      assertEquals("17 questions in one round; ask at most 16 at once", client.callTool("many").failure().getMessage());
      var failure = client.callTool("large").failure();
      assertEquals(FailureReason.FAILURE_REASON_INTERNAL, failure.getReason());
      assertTrue(failure.getMessage().contains("above the 65536 that survive a round"), failure.getMessage());
    }
  }

  @Test
  void formsThatAreNotFlatAreRefused() {
    var e = assertThrows(DefinitionException.class, () -> Question.form("k", "m", Nested.class));
    assertEquals("member within of a form: use a string, number, boolean, enum or a list of enums", e.getMessage());
    assertThrows(DefinitionException.class, () -> Question.formSchema("k", "m", "[]"));
  }

  @Test
  void promptsAndReadsAskToo() {
    s.prompt("greet", "Greets", call -> "Greet " + call.ask("name", "Who?", String.class));
    s.resource("test://asked", "asked", "text/plain", (call, uri) -> {
      call.checkpoint(new byte[] {1}); // only tools have them
      return call.ask("name", "Who?", String.class);
    });
    try (var client = new TestClient(s).answer("name", Answer.accepted(Map.of("name", "Ada")))) {
      assertEquals("Greet Ada", client.getPrompt("greet", Map.of()).promptResult().getMessages(0).getContent().getText().getText());
      assertEquals("Ada", client.readResource("test://asked").readResult().getContents(0).getText());
    }
  }
}
