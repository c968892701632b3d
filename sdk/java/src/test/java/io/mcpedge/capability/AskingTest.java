package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mcpedge.capability.testing.Answer;
import io.mcpedge.capability.testing.TestClient;
import io.mcpedge.v1.CallToolRequest;
import io.mcpedge.v1.InputResponse;
import io.mcpedge.v1.ToolServiceGrpc;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
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

  /** Collects the messages of the library's log, which the console does not get meanwhile. */
  private static final class Said extends Handler implements AutoCloseable {
    final List<String> messages = new CopyOnWriteArrayList<>();
    private final Logger log = Logger.getLogger("io.mcpedge.capability");

    Said() {
      log.addHandler(this);
      log.setUseParentHandlers(false);
    }

    @Override
    public void publish(LogRecord record) {
      messages.add(record.getMessage());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
      log.setUseParentHandlers(true);
      log.removeHandler(this);
    }
  }

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
      var schema = Json.tree(out.asked().get(0).schema().text());
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

  record Lending(Size from, Optional<Size> to, LocalDate until) {
    Lending {
      if (until.getYear() < 2000) {
        throw new IllegalArgumentException("the year must be 2000 or later");
      }
    }
  }

  private static InputResponse accepted(String key, String content) {
    return InputResponse.newBuilder().setKey(key)
        .setElicit(io.mcpedge.v1.ElicitResult.newBuilder().setAction(io.mcpedge.v1.ElicitAction.ELICIT_ACTION_ACCEPT).setContentJson(content)).build();
  }

  /** Each question is repeated, with a reason that names the member. */
  @Test
  void whatDoesNotFitIsSaid() {
    var order = Question.form("order", "What?", Order.class);
    var lending = Question.form("lending", "Until?", Lending.class);
    var one = Question.form("n", "How many?", int.class);
    var day = Question.form("day", "When?", LocalDate.class);
    Map.of("{\"size\":\"small\",\"count\":9}", "the member \"count\" must be an integer, at least 1, at most 5",
        "{\"size\":\"small\",\"count\":\"2\"}", "the member \"count\" must be an integer, at least 1, at most 5",
        "{\"count\":2}", "the member \"size\" is missing; it is required",
        "{\"size\":\"huge\",\"count\":2}", "the member \"size\" must be one of [\"small\",\"large\"]",
        "{\"size\":\"small\",\"count\":2,\"extras\":[\"salt\"]}", "the member \"extras\" must be an array of [\"milk\",\"sugar\"]",
        "3", "it must be a JSON object of the members size, count, extras, note").forEach((content, wrong) -> assertEquals(wrong, order.misfit(accepted("order", content))));
    assertEquals("the member \"until\" must be a date such as 2026-11-24", lending.misfit(accepted("lending", "{\"from\":\"small\",\"until\":\"soon\"}")));
    assertEquals("the members do not fit: the year must be 2000 or later",
        lending.misfit(accepted("lending", "{\"from\":\"small\",\"until\":\"1999-01-01\"}")));
    assertNull(lending.misfit(accepted("lending", "{\"from\":\"small\",\"to\":\"small\",\"until\":\"2026-11-24\"}")));
    assertEquals("the member \"n\" must be an integer, at least -2147483648, at most 2147483647", one.misfit(accepted("n", "{\"n\":99999999999}")));
    assertEquals("the member \"day\" must be a date such as 2026-11-24", day.misfit(accepted("day", "{\"day\":\"2026-02-30\"}")));
    assertEquals(LocalDate.of(2026, 2, 3), day.read(accepted("day", "{\"day\":\"2026-02-03\"}")));
  }

  /** The user is asked again, and the log says why. */
  @Test
  void whatDoesNotFitIsAskedAgain() {
    s.tool("order", "Orders", call -> "" + call.ask("order", "What?", Order.class).count());
    try (var said = new Said(); var client = new TestClient(s)) {
      var request = CallToolRequest.newBuilder().setName("order").setContext(Contexts.DEFAULT);
      var stub = ToolServiceGrpc.newBlockingStub(client.channel());
      for (String wrong : List.of("{\"size\":\"small\",\"count\":9}", "{\"size\":\"small\",\"count\":1.5}")) {
        var again = stub.callTool(request.clone().addInputResponses(accepted("order", wrong)).build()).next().getInputRequired();
        assertEquals("order", again.getRequests(0).getKey());
      }
      var result = stub.callTool(request.clone().addInputResponses(accepted("order", "{\"size\":\"small\",\"count\":2}")).build()).next().getResult();
      assertEquals("2", result.getContent(0).getText().getText());
      String want = "call test repeats a question: the answer to \"order\" does not fit: the member \"count\" must be an integer, at least 1, at most 5";
      assertEquals(List.of(want, want), said.messages);
    }
  }

  /** The kit fails at once instead of repeating the question. */
  @Test
  void scriptedAnswersHaveToFit() {
    s.tool("sure", "Asks", call -> call.ask("sure", "Sure?", boolean.class));
    s.tool("roots", "Asks", call -> call.roots("roots").size());
    s.tool("model", "Asks", call -> call.sample("model", "Hello", 10).text());
    s.tool("year", "Asks", call -> call.ask("year", "Until?", Lending.class).until());
    try (var said = new Said(); var client = new TestClient(s).answer("sure", Answer.accepted(true)).answer("roots", Answer.sampled("a"))
        .answer("model", Answer.declined()).answer("year", Answer.accepted(Map.of("from", "small", "until", "1999-01-01")))) {
      for (var tried : Map.of(
          "sure", "the answer to \"sure\" does not fit: it must be a JSON object of the members sure",
          "roots", "the answer to \"roots\" does not fit: it must be a list of roots",
          "model", "the answer to \"model\" does not fit: it must be a message of a model",
          "year", "the call still asks for \"year\" after 32 rounds; the log has the answer that does not fit, and why").entrySet()) {
        assertEquals(tried.getValue(), assertThrows(AssertionError.class, () -> client.callTool(tried.getKey())).getMessage());
      }
      assertEquals(31, said.messages.size(), "each round but the first says why it repeats the question");
      for (String message : said.messages) {
        assertTrue(message.startsWith("call test repeats a question: the answer to \"year\" does not fit: "), message);
      }
    }
  }

  @Test
  void outcomesSayWhatTheyAre() {
    s.tool("fails", "Fails", call -> {
      throw new Failure(Reason.UNAVAILABLE, "off");
    });
    s.prompt("greet", "Greets", call -> "Hello");
    try (var client = new TestClient(s)) {
      var out = client.callTool("fails");
      for (org.junit.jupiter.api.function.Executable wrong : List.<org.junit.jupiter.api.function.Executable>of(out::text, out::structured, out::result)) {
        String message = assertThrows(AssertionError.class, wrong).getMessage();
        assertTrue(message.startsWith("the call has no Result: failure UNAVAILABLE: ") && message.contains("off"), message);
      }
      assertTrue(out.toString().contains("off"), out.toString());
      var prompt = client.getPrompt("greet", Map.of());
      assertTrue(assertThrows(AssertionError.class, prompt::text).getMessage().contains("Hello"));
      assertTrue(prompt.toString().startsWith("result "), prompt.toString());
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
      var out = client.answer("sure", Answer.dismissed()).callTool("delete");
      assertTrue(out.isError());
      assertEquals("the user dismissed the question", out.text());
    }
  }

  /** A handler that catches the Error of a question, or returns after it, still ends with its questions. */
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
      assertEquals("name", client.callTool("failed").asked().get(0).key());
      assertEquals("name", client.callTool("stubborn").asked().get(0).key());
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
      assertEquals(out.text(), out.asked().get(1).message());
    }
  }

  /** A client's answer under the key of once does not replace the stored value. */
  @Test
  void onceIsNotForged() {
    s.tool("keep", "Keeps", call -> call.once("k", () -> "own"));
    var forged = InputResponse.newBuilder().setKey("\0once:k").setRawJson("\"forged\"").build();
    var answers = new Answers(List.of(forged), com.google.protobuf.ByteString.EMPTY);
    assertNull(answers.step("k"));
  }

  /** Two questions under one key would share an answer: a yes for the first file would delete the second. */
  @Test
  void aKeyIsOfOneQuestion() {
    var s = new Capability("test", "1");
    s.tool("loop", "", call -> {
      int sure = 0;
      for (String file : List.of("a", "b")) {
        sure += call.ask("sure", "Delete " + file + "?", boolean.class) ? 1 : 0;
      }
      return sure;
    });
    s.tool("same", "", call -> call.ask("sure", "Delete?", boolean.class) && call.ask("sure", "Delete?", boolean.class));
    s.tool("together", "", call -> {
      call.askAll(Question.form("k", "a?", String.class), Question.form("k", "b?", String.class));
      return "";
    });
    try (var client = new TestClient(s).answer("sure", Answer.accepted(Map.of("sure", true)))) {
      var failure = client.callTool("loop").failure();
      assertEquals(Reason.INTERNAL, failure.reason());
      assertEquals("two different questions have the key \"sure\"; give each its own, as \"sure-\" + id", failure.getMessage());
      assertEquals("true", client.callTool("same").structured().text());
      assertEquals(Reason.INTERNAL, client.callTool("together").failure().reason());
    }
  }

  /** The function of the second step would not run. A handler that catches the exception changes nothing. */
  @Test
  void aKeyIsOfOneStep() {
    var s = new Capability("test", "1");
    List<String> made = new java.util.ArrayList<>();
    s.tool("loop", "", call -> {
      for (String item : List.of("a", "b")) {
        call.once("order", Boolean.class, () -> made.add(item));
      }
      return "done";
    });
    s.tool("caught", "", call -> {
      call.once("order", Boolean.class, () -> made.add("a"));
      try {
        return call.once("order", Boolean.class, () -> made.add("b"));
      } catch (Exception e) {
        return "could not";
      }
    });
    s.tool("replayed", "", call -> {
      call.once("order", Boolean.class, () -> made.add("a"));
      call.ask("sure", "Sure?", boolean.class);
      return call.once("order", Boolean.class, () -> made.add("b"));
    });
    s.tool("again", "", call -> {
      try {
        call.once("order", () -> {
          throw new java.io.IOException("not yet");
        });
      } catch (java.io.IOException e) {
        return call.once("order", () -> "second");
      }
      return "first";
    });
    s.tool("empty", "", call -> call.once("", () -> "made"));
    s.tool("long", "", call -> call.once("k".repeat(129), () -> "made"));
    String twice = "once \"order\" came twice in one round, where the second has the value of the first; give each its own key, as \"order-\" + id";
    try (var client = new TestClient(s).answer("sure", Answer.accepted(Map.of("sure", true)))) {
      for (String tool : List.of("loop", "caught", "replayed")) {
        made.clear();
        var failure = client.callTool(tool).failure();
        assertEquals(Reason.INTERNAL + " " + twice + " [a]", failure.reason() + " " + failure.getMessage() + " " + made, tool);
      }
      assertEquals("second", client.callTool("again").text());
      for (var bound : Map.of("empty", 0, "long", 129).entrySet()) {
        var failure = client.callTool(bound.getKey()).failure();
        assertEquals(Reason.INTERNAL, failure.reason());
        assertTrue(failure.getMessage().startsWith("the key of once has 1 to 128 bytes, not " + bound.getValue()), failure.getMessage());
      }
    }
  }

  /** The answer to a question stays the same: a loop that asks until it likes the answer would hold its thread for good. */
  @Test
  void aQuestionIsNotAskedWithoutEnd() {
    var s = new Capability("test", "1");
    s.tool("until", "", call -> {
      while (call.ask("cups", "How many?", int.class) < 3) {
        continue;
      }
      return "many";
    });
    try (var client = new TestClient(s).answer("cups", Answer.accepted(Map.of("cups", 1)))) {
      var failure = client.callTool("until").failure();
      assertEquals(Reason.INTERNAL, failure.reason());
      assertEquals("one round asked the question \"cups\" 1000 times, and its answer stays the same; ask again under another key, as \"cups-\" + attempt",
          failure.getMessage());
    }
  }

  @Test
  void severalAreAskedAtOnce() {
    s.tool("all", "Asks all", call -> {
      var who = Question.form("who", "Who?", String.class);
      var roots = Question.listRoots("roots");
      var model = Question.sampling("model", "Hello", 10);
      var page = Question.openUrl("page", "Open", "https://example.com");
      call.askAll(who, roots, model, page);
      return call.answer(who) + " " + call.answer(roots).size() + " " + call.answer(model).text() + " " + call.answer(page).action();
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
      return new String(call.state(), StandardCharsets.UTF_8) + call.answered(Question.form("name", "Who?", String.class)).orElseThrow();
    });
    try (var client = new TestClient(s)) {
      assertTrue(client.callTool("own").isRepeatable());
      assertEquals("sAda", client.answer("name", Answer.accepted(Map.of("name", "Ada"))).callTool("own").text());
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
      assertEquals(Reason.INTERNAL, failure.reason());
      assertTrue(failure.getMessage().contains("above the 65536 that survive a round"), failure.getMessage());
    }
  }

  @Test
  void formsThatAreNotFlatAreRefused() {
    var e = assertThrows(DefinitionException.class, () -> Question.form("k", "m", Nested.class));
    assertEquals("member within of a form: use a string, number, boolean, enum or a list of enums", e.getMessage());
    assertThrows(DefinitionException.class, () -> Question.formSchema("k", "m", "[]"));
    // A pattern for which the stack is too small accepts every value.
    var many = InputResponse.newBuilder().setKey("k").setElicit(io.mcpedge.v1.ElicitResult.newBuilder()
        .setAction(io.mcpedge.v1.ElicitAction.ELICIT_ACTION_ACCEPT).setContentJson("{\"s\":\"" + "ab".repeat(50_000) + "\"}")).build();
    assertTrue(Question.formSchema("k", "m", "{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\",\"pattern\":\"^(a|b)*$\"}}}").fits(many));
  }

  @Test
  void promptsAndReadsAskToo() {
    s.prompt("greet", "Greets", call -> "Greet " + call.ask("name", "Who?", String.class));
    s.resource("test://asked", "asked", "text/plain", (call, uri) -> {
      call.checkpoint(new byte[] {1}); // only tools have them
      return call.ask("name", "Who?", String.class);
    });
    try (var client = new TestClient(s).answer("name", Answer.accepted(Map.of("name", "Ada")))) {
      assertEquals("Greet Ada", client.getPrompt("greet", Map.of()).promptResult().messages().get(0).content().text());
      assertEquals("Ada", client.readResource("test://asked").readResult().contents().get(0).text());
    }
  }
}
