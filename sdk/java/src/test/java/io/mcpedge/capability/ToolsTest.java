package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.mcpedge.capability.testing.TestClient;
import io.mcpedge.v1.CancelCallRequest;
import io.mcpedge.v1.ListToolsRequest;
import io.mcpedge.v1.ToolServiceGrpc;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ToolsTest {
  enum Color {
    red,
    green
  }

  record Inner(@Default("7") int seven, List<Long> numbers) {}

  record Args(
      @Description("How many") @Limits(min = 1, max = 9007199254740991L) long count,
      @Limits(minLength = 1, maxLength = 3, pattern = "^a") @Default("a") String text,
      @Default("green") Color color,
      @Limits(min = 0.5, minItems = 1, uniqueItems = true) Optional<List<Double>> shares,
      OptionalInt maybe,
      @Header("Region") Optional<String> region,
      Optional<Inner> inner,
      Optional<LocalDate> day) {}

  record Weather(double degrees, Optional<String> note, List<String> tags) {}

  record Wrong(@Default("x") int count) {}

  record Runs(Runnable task) {}

  record WrongText(@Limits(min = 2) String text) {}

  record Empty(@Limits(min = 5, max = 3) int count) {}

  record Validated(int count) {
    Validated {
      if (count > 3) {
        throw new IllegalArgumentException("at most 3, not " + count);
      }
    }
  }

  interface Shape {}

  static final class Unencodable {
    public Unencodable getItself() {
      return this;
    }
  }

  private final Capability s = new Capability("test", "1");

  private io.mcpedge.v1.Tool listed(TestClient client) {
    return ToolServiceGrpc.newBlockingStub(client.channel()).listTools(ListToolsRequest.getDefaultInstance()).getTools(0);
  }

  @Test
  void schemasAreMadeOfRecords() {
    s.tool("t", "Does", Args.class, Weather.class, (call, in) -> new Weather(1, Optional.empty(), List.of()),
        ToolOption.readOnly(), ToolOption.title("T"), ToolOption.tasksOptional(), ToolOption.meta(Map.of("a", 1)));
    try (var client = new TestClient(s)) {
      var tool = listed(client);
      var schema = Json.tree(tool.getInputSchemaJson());
      assertEquals("[\"count\"]", schema.path("required").toString());
      assertEquals(Json.tree("{\"type\":\"integer\",\"description\":\"How many\",\"minimum\":1,\"maximum\":9007199254740991}").toString(),
          schema.at("/properties/count").toString());
      assertEquals(Json.tree("{\"type\":\"string\",\"default\":\"a\",\"minLength\":1,\"maxLength\":3,\"pattern\":\"^a\"}"), schema.at("/properties/text"));
      assertEquals(Json.tree("{\"type\":\"string\",\"enum\":[\"red\",\"green\"],\"default\":\"green\"}"), schema.at("/properties/color"));
      assertEquals(Json.tree("{\"type\":\"array\",\"minItems\":1,\"uniqueItems\":true,\"items\":{\"type\":\"number\",\"minimum\":0.5}}"),
          schema.at("/properties/shares"));
      assertEquals(Json.tree("{\"type\":\"integer\",\"minimum\":-2147483648,\"maximum\":2147483647}"), schema.at("/properties/maybe"));
      assertEquals("Region", schema.at("/properties/region/x-mcp-header").asText());
      assertEquals("date", schema.at("/properties/day/format").asText());
      var output = Json.tree(tool.getOutputSchemaJson());
      assertEquals("[\"degrees\",\"note\",\"tags\"]", output.path("required").toString());
      assertEquals("[\"string\",\"null\"]", output.at("/properties/note/type").toString());
      assertTrue(tool.getAnnotations().getReadOnly());
      assertEquals("{\"a\":1}", tool.getMetaJson());
    }
  }

  @Test
  void argumentsAreReadByTheirTypes() {
    s.tool("t", "Does", Args.class, (call, in) -> in.toString());
    try (var client = new TestClient(s)) {
      String least = client.callTool("t", Map.of("count", 3.0)).text();
      assertEquals("Args[count=3, text=a, color=green, shares=Optional.empty, maybe=OptionalInt.empty, region=Optional.empty, inner=Optional.empty, "
          + "day=Optional.empty]", least);
      String more = client.callTool("t", Map.of("count", 9007199254740991L, "shares", List.of(0.5, 1), "maybe", 2, "inner", Map.of("numbers", List.of(1.0)),
          "day", "2026-02-03")).text();
      assertTrue(more.contains("count=9007199254740991, text=a"), more);
      assertTrue(more.contains("Optional[[0.5, 1.0]], maybe=OptionalInt[2]"), more);
      assertTrue(more.contains("Inner[seven=7, numbers=[1]]"), more);
      assertTrue(more.contains("Optional[2026-02-03]"), more);
    }
  }

  @Test
  void whatDoesNotFitIsSaid() {
    s.tool("t", "Does", Args.class, (call, in) -> in.toString());
    s.tool("v", "Does", Validated.class, (call, in) -> in.toString());
    try (var client = new TestClient(s)) {
      for (var tried : Map.of(
          "the argument \"count\" is missing; it is required", Map.of(),
          "the argument \"inner.numbers\" is missing; it is required", Map.of("count", 1, "inner", Map.of()),
          "the argument \"count\" must be an integer, at least 1, at most 9007199254740991", Map.of("count", "1"),
          "the argument \"color\" must be one of [\"red\",\"green\"]", Map.of("count", 1, "color", "blue"),
          "the argument \"inner.numbers.1\" must be an integer", Map.of("count", 1, "inner", Map.of("numbers", List.of(1, 1.5))),
          "the argument \"day\" must be a date such as 2026-11-24", Map.of("count", 1, "day", "2026-02-30"),
          "the argument \"inner.seven\" must be an integer, at least -2147483648, at most 2147483647",
          Map.of("count", 1, "inner", Map.of("numbers", List.of(), "seven", 99999999999L)),
          "the argument \"shares\" must be an array, with 1 items or more", Map.of("count", 1, "shares", "all")).entrySet()) {
        var failure = client.callTool("t", tried.getValue()).failure();
        assertEquals(Reason.INVALID_ARGUMENT, failure.reason());
        assertEquals(tried.getKey(), failure.getMessage());
      }
      assertEquals("the arguments do not fit: at most 3, not 4", client.callTool("v", Map.of("count", 4)).failure().getMessage());
    }
  }

  record Bounded(@Limits(min = 2, max = 4) int count, @Limits(min = 1) Optional<Integer> more, short small, Color a, @Description("B") Optional<Color> b) {}

  record Formats(
      Optional<OffsetDateTime> at, Optional<Duration> time, Optional<URI> uri, Optional<Map<String, Integer>> map, Optional<Long> large, Optional<UUID> id) {}

  /** Two members of one type have the same schema, and values that Java cannot represent are out of bounds. */
  @Test
  void membersStandForThemselves() {
    var schema = Json.tree(Schemas.ofArguments("t", Bounded.class).toString());
    assertEquals(Json.tree("{\"type\":\"integer\",\"minimum\":2,\"maximum\":4}"), schema.at("/properties/count"));
    assertEquals(Json.tree("{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647}"), schema.at("/properties/more"));
    assertEquals(Json.tree("{\"type\":\"integer\",\"minimum\":-32768,\"maximum\":32767}"), schema.at("/properties/small"));
    assertEquals(Json.tree("{\"type\":\"string\",\"enum\":[\"red\",\"green\"]}"), schema.at("/properties/a"));
    assertEquals(Json.tree("{\"type\":\"string\",\"enum\":[\"red\",\"green\"],\"description\":\"B\"}"), schema.at("/properties/b"));
    assertFalse(Schemas.of("r", Inner.class, true).at("/properties/seven").has("maximum")); // of what it writes Java sees to it
  }

  record Step(@Default("1") int times, String name, Optional<Step> next) {}

  /** A recursive type is expanded once, and its defaults apply at any depth. */
  @Test
  void schemasOfArgumentsHaveNoReferences() {
    s.tool("steps", "", Step.class, (call, in) -> in.next().orElseThrow().next().orElseThrow().times() + in.name());
    try (var client = new TestClient(s)) {
      var schema = Json.tree(s.tools.find("steps").listed().getInputSchemaJson());
      assertEquals(Json.tree("{\"type\":\"object\",\"description\":\"as the one above that holds it\"}"), schema.at("/properties/next"));
      assertFalse(schema.has("$defs"));
      var out = client.callTool("steps", new RawJson("{\"name\":\"a\",\"next\":{\"name\":\"b\",\"next\":{\"name\":\"c\"}}}"));
      assertEquals("1a", out.result().content().get(0).text());
      assertTrue(client.callTool("steps", new RawJson("{\"name\":\"a\",\"next\":{\"name\":7}}")).failure().getMessage().contains("next.name"));
    }
  }

  record Moods(Color a, Optional<Color> b) {}

  @Test
  void promptsTakeOneEnumTwice() {
    s.prompt("p", "", Moods.class, (call, in) -> in.a() + " " + in.b());
    try (var client = new TestClient(s)) {
      var out = client.getPrompt("p", Map.of("a", "red", "b", "green"));
      assertEquals("red Optional[green]", out.promptResult().messages().get(0).content().text());
    }
  }

  @Test
  void whatDoesNotParseIsSaid() {
    var read = new Arguments<>(Formats.class, Schemas.ofArguments("t", Formats.class));
    Map.of("{\"at\":\"soon\"}", "the argument \"at\" must be a date and time such as 2026-11-24T17:20:00Z",
        "{\"time\":\"\"}", "the argument \"time\" must be a duration such as PT1H30M",
        "{\"uri\":\"a b\"}", "the argument \"uri\" must be a URI such as https://example.com/a",
        "{\"id\":\"x\"}", "the argument \"id\" must be a UUID",
        "{\"map\":{\"a\":\"x\"}}", "the argument \"map.a\" must be an integer, at least -2147483648, at most 2147483647",
        "{\"large\":99999999999999999999}", "the argument \"large\" must be an integer of 64 bits")
        .forEach((text, wrong) -> assertEquals(wrong, read.misfit(text)));
  }

  @Test
  void resultsAreWhatTheyAre() {
    s.tool("none", "Gives nothing", call -> null);
    s.tool("blocks", "Gives content", call -> List.of(Content.text("a"), Content.text("b")));
    s.tool("map", "Gives structured content", call -> Map.of("a", new RawJson("1.10")));
    s.tool("null", "Breaks its schema", Map.class, Weather.class, (call, in) -> null);
    s.rawTool(new Tool("echo", "", ""), (call, raw) -> Result.structured(raw).withMeta(Map.of("m", 1)));
    s.tool("surrogate", "Gives what is no Unicode", call -> "a\ud800");
    try (var client = new TestClient(s)) {
      assertEquals(0, client.callTool("none").result().content().size());
      assertEquals("a\nb", client.callTool("blocks").text());
      assertEquals("{\"a\":1.10}", client.callTool("map").structured().text());
      assertEquals("tool null returned null; return a value of its result's type", client.callTool("null").failure().getMessage());
      assertEquals("{\"m\":1}", Json.encode(client.callTool("echo").result().meta()));
      assertEquals("a\ufffd", client.callTool("surrogate").text());
    }
  }

  @Test
  void exceptionsAreSorted() {
    s.tool("plain", "Fails", call -> {
      throw new ExecutionException(new Exception("out of paper"));
    });
    s.tool("failure", "Fails", call -> {
      throw new Exception("outside", new Failure(Reason.UNAVAILABLE, "off", Map.of("retry", 1)));
    });
    s.tool("scopes", "Fails", call -> {
      throw Failure.lacksScopes("a", "b");
    });
    s.tool("fault", "Fails", call -> List.of().add(null));
    s.tool("missing", "Fails", call -> Optional.empty().get());
    s.tool("index", "Fails", call -> List.of().get(7));
    s.tool("encode", "Fails", call -> new Unencodable());
    s.tool("error", "Fails", call -> {
      throw new StackOverflowError("secret");
    });
    s.tool("wrapped", "Fails", call -> {
      throw new IllegalStateException(new RuntimeException(new NullPointerException("secret")));
    });
    s.tool("outside", "Fails", call -> {
      throw new java.io.UncheckedIOException(new java.io.IOException("the disk is full"));
    });
    s.tool("status", "Fails", call -> {
      throw Status.RESOURCE_EXHAUSTED.withDescription("full").asRuntimeException();
    });
    Logger log = Logger.getLogger("io.mcpedge.capability");
    log.setUseParentHandlers(false); // the faults are meant
    try (var client = new TestClient(s)) {
      assertEquals("out of paper", client.callTool("plain").text());
      assertTrue(client.callTool("plain").isError());
      assertEquals("{\"retry\":1}", client.callTool("failure").failure().data().toString());
      assertEquals(List.of("a", "b"), client.callTool("scopes").failure().scopes());
      assertEquals("tool fault failed by a fault of the service", client.callTool("fault").failure().getMessage());
      assertEquals("tool wrapped failed by a fault of the service", client.callTool("wrapped").failure().getMessage());
      assertEquals("the disk is full", client.callTool("outside").text());
      assertEquals("NoSuchElementException: No value present", client.callTool("missing").text());
      assertEquals("ArrayIndexOutOfBoundsException: Index 7 out of bounds for length 0", client.callTool("index").text());
      String unsent = client.callTool("encode").failure().getMessage();
      assertTrue(unsent.startsWith("tool encode returned what cannot be sent: io.mcpedge.capability.ToolsTest$Unencodable cannot be encoded as JSON"), unsent);
      assertEquals("tool error failed by a fault of the service", client.callTool("error").failure().getMessage());
      var e = assertThrows(StatusRuntimeException.class, () -> client.callTool("status"));
      assertEquals(Status.Code.RESOURCE_EXHAUSTED, e.getStatus().getCode());
      assertEquals("there is no tool \"nothing\"", client.callTool("nothing").failure().getMessage());
    } finally {
      log.setUseParentHandlers(true);
    }
  }

  /** Exceptions of files are also recognized inside those of futures and lambdas. The path is not shown. */
  @Test
  void filesThatAreNotThereAreNotFound() {
    for (var thrown : Map.<String, Exception>of(
        "test://a", new NoSuchFileException("/srv/a"),
        "test://b", new UncheckedIOException(new NoSuchFileException("/srv/b")),
        "test://c", new UncheckedIOException("cannot read /srv/c", new FileNotFoundException("/srv/c")),
        "test://d", new ExecutionException(new NoSuchFileException("/srv/d")),
        "test://e", new UncheckedIOException(new AccessDeniedException("/srv/e")),
        "test://f", new UncheckedIOException(new IOException("the disk is full"))).entrySet()) {
      s.resource(thrown.getKey(), "n", "", (call, uri) -> {
        throw thrown.getValue();
      });
    }
    try (var client = new TestClient(s)) {
      for (String uri : List.of("test://a", "test://b", "test://c", "test://d")) {
        assertEquals(Reason.NOT_FOUND, client.readResource(uri).failure().reason(), uri);
        assertEquals("there is no resource \"" + uri + "\"", client.readResource(uri).failure().getMessage());
      }
      assertEquals("resource \"test://e\" may not be read", client.readResource("test://e").failure().getMessage());
      assertEquals(Reason.PERMISSION_DENIED, client.readResource("test://e").failure().reason());
      assertEquals("the disk is full", client.readResource("test://f").failure().getMessage());
    }
  }

  /** An exception whose message cannot be read. */
  private static final class Unsayable extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new IllegalStateException("secret");
    }
  }

  @SuppressWarnings("unchecked") // which lets anything be thrown
  private static <E extends Throwable> void sneak(Throwable e) throws E {
    throw (E) e;
  }

  /** Every call has an outcome, whatever its handler throws. */
  @Test
  @Timeout(180)
  void whatCannotBeToldOfIsAFault() {
    s.tool("reasonless", "Fails", call -> {
      throw new Failure(null, "secret");
    });
    s.tool("thrown", "Fails", call -> {
      ToolsTest.<RuntimeException>sneak(new Throwable("secret"));
      return "";
    });
    s.tool("waited", "Fails", call -> {
      throw new ExecutionException(new Throwable("secret"));
    });
    s.tool("unsayable", "Fails", call -> {
      throw new Unsayable();
    });
    s.tool("wordless", "Fails", call -> {
      throw new Failure(Reason.UNAVAILABLE, null);
    });
    s.prompt("p", "", Map.class, (call, in) -> {
      throw new Unsayable();
    });
    s.onCancel("reasonless", call -> {
      throw new Unsayable();
    });
    Logger log = Logger.getLogger("io.mcpedge.capability");
    log.setUseParentHandlers(false); // the faults are meant
    try (var client = new TestClient(s)) {
      for (String name : List.of("reasonless", "thrown", "waited", "unsayable")) {
        assertEquals("tool " + name + " failed by a fault of the service", client.callTool(name).failure().getMessage());
      }
      assertEquals(Reason.UNAVAILABLE, client.callTool("wordless").failure().reason());
      assertEquals("prompt p failed by a fault of the service", client.getPrompt("p", Map.of()).failure().getMessage());
      var stub = ToolServiceGrpc.newBlockingStub(client.channel()).withDeadlineAfter(60, TimeUnit.SECONDS);
      var e = assertThrows(StatusRuntimeException.class, () -> stub.cancelCall(CancelCallRequest.newBuilder().setName("reasonless").build()));
      assertEquals(Status.Code.INTERNAL, e.getStatus().getCode());
    } finally {
      log.setUseParentHandlers(true);
    }
  }

  /** An invalid handler fails when it is defined, with a message that names the tool. */
  @Test
  void wrongDefinitionsAreRefused() {
    s.tool("taken", "Is there", call -> "");
    for (var wrong : Map.<String, Runnable>of(
        "tool name \"a b\": use 1 to 64 of A-Z a-z 0-9 _ . -", () -> s.tool("a b", "", call -> ""),
        "there is a tool \"taken\" already: give it another name, or remove the other first", () -> s.tool("taken", "", call -> ""),
        "tool list: arguments are a JSON object; use a record or a Map, not java.util.List", () -> s.tool("list", "", List.class, (call, in) -> ""),
        "tool shape: io.mcpedge.capability.ToolsTest$Shape cannot be decoded; use a record: ", () -> s.tool("shape", "", Shape.class, (call, in) -> ""),
        "tool wrong: @Default(\"x\") of count is no JSON of int", () -> s.tool("wrong", "", Wrong.class, (call, in) -> ""),
        "prompt p: the argument count must be a String, an enum or an Optional of them: prompts take text",
        () -> s.prompt("p", "", Validated.class, (call, in) -> ""),
        "prompt q has no \"mood\" to complete; it has []", () -> s.prompt("q", "", Map.class, (call, in) -> "", Complete.suggest("mood", "calm")),
        "resource \"notes\", name \"n\": an absolute URI, such as notes://today, and a name are required",
        () -> s.resource("notes", "n", "", (call, uri) -> "")).entrySet()) {
      var e = assertThrows(DefinitionException.class, wrong.getValue()::run);
      assertTrue(e.getMessage().startsWith(wrong.getKey()), e.getMessage());
    }
  }

  @Test
  void typesThatNothingFitsAreRefused() {
    for (var wrong : Map.<String, Runnable>of(
        "tool runs: java.lang.Runnable cannot be decoded; use a record: ", () -> s.tool("runs", "", Runs.class, (call, in) -> ""),
        "tool text: @Limits of text: minimum is of a number, and this is a string", () -> s.tool("text", "", WrongText.class, (call, in) -> ""),
        "tool empty: @Limits of count: no value is at least 5 and at most 3", () -> s.tool("empty", "", Empty.class, (call, in) -> ""),
        "tool nothing: the description is null; give a text, or \"\"", () -> s.tool("nothing", null, call -> ""),
        "a tool's name is null; give a text", () -> s.tool(null, "", call -> ""),
        "prompt nothing: the description is null; give a text, or \"\"", () -> s.prompt("nothing", null, call -> "")).entrySet()) {
      assertTrue(assertThrows(DefinitionException.class, wrong.getValue()::run).getMessage().startsWith(wrong.getKey()), wrong.getKey());
    }
  }

  @Test
  void handlersOfNullAreRefused() {
    Handler<?> none = null;
    ToolHandler<Args, ?> noTool = null;
    ToolHandler<Map<String, String>, ?> noPrompt = null;
    for (var wrong : Map.<String, Runnable>of(
        "the handler of tool \"a\" is null; give one", () -> s.tool("a", "", none),
        "the handler of tool \"b\" is null; give one", () -> s.tool("b", "", Args.class, noTool),
        "the handler of tool \"c\" is null; give one", () -> s.rawTool(new Tool("c", "", ""), null),
        "the handler of prompt \"a\" is null; give one", () -> s.prompt("a", "", none),
        "the handler of prompt \"b\" is null; give one", () -> s.prompt(Prompt.builder().name("b").build(), noPrompt),
        "the handler of resource \"test://a\" is null; give one", () -> s.resource("test://a", "a", "", null),
        "the handler of template \"test://{a}\" is null; give one", () -> s.template("test://{a}", "a", "", null),
        "the provider of \"test://\" is null; give one", () -> s.provide("test://", null),
        "the handler of cancellations of tool \"a\" is null; give one", () -> s.onCancel("a", null)).entrySet()) {
      assertEquals(wrong.getKey(), assertThrows(DefinitionException.class, wrong.getValue()::run, wrong.getKey()).getMessage());
    }
  }

  record Point(int x) {}

  record Line(@Default("{\"x\":1}") Point from, Point to) {}

  /** A type that occurs twice is a reference in the generated schema, next to which the default is. */
  @Test
  void aRecordMayHaveADefault() {
    s.tool("line", "", Line.class, (call, in) -> in);
    try (var client = new TestClient(s)) {
      assertEquals("{\"from\":{\"x\":1},\"to\":{\"x\":2}}", client.callTool("line", Map.of("to", Map.of("x", 2))).structured().text());
    }
  }

  @Test
  void aLoggerMayBeNull() {
    s.tool("t", "", call -> {
      call.log(Level.ERROR, 1, null);
      return "";
    });
    try (var client = new TestClient(s)) {
      assertEquals("", client.callTool("t").logs().get(0).logger());
    }
  }

  @Test
  void eventsAreWhatTheClientWants() {
    s.tool("t", "Reports", call -> {
      call.progress(1, 2, "one");
      call.progress(1);
      call.progress(2, 2);
      call.log(Level.DEBUG, "d");
      call.log(Level.ERROR, Map.of("e", 1), "me");
      call.defer();
      call.setMeta(Map.of("m", 1));
      return "";
    });
    try (var client = new TestClient(s)) {
      var out = client.callTool("t");
      assertEquals(List.of("progress", "progress", "log", "log"), out.events());
      assertEquals("{\"m\":1}", Json.encode(out.result().meta()));
      client.wantsProgress(false).logLevel(Level.ERROR);
      out = client.callTool("t");
      assertEquals(List.of("log"), out.events());
      assertEquals("me", out.logs().get(0).logger());
    }
  }

  @Test
  void aCallKnowsItsRequest() {
    s.tool("t", "Knows", call -> {
      assertEquals("{\"a\":1}", call.meta().text());
      assertEquals("\"x\"", call.claim("org").orElseThrow().text());
      assertEquals("x", call.claim("org").orElseThrow().as(String.class));
      assertTrue(call.claim("none").isEmpty() && call.taskId().isEmpty() && call.clientInfo().isEmpty() && call.timeRemaining().isEmpty());
      assertFalse(call.cancelled());
      assertNull(call.state());
      return call.principal().subject() + call.round() + call.attempt() + call.id();
    });
    try (var client = new TestClient(s)) {
      var ada = new Principal("ada", "", List.of(), List.of(), "", "", false, Map.of("org", new RawJson("\"x\"")));
      assertEquals("ada11test", client.principal(ada).meta(Map.of("a", 1)).callTool("t").text());
    }
  }
}
