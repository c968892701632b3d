package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.MetadataUtils;
import io.mcpedge.capability.testing.TestClient;
import io.mcpedge.v1.CallToolRequest;
import io.mcpedge.v1.CallToolResponse;
import io.mcpedge.v1.CancelCallRequest;
import io.mcpedge.v1.ListResourcesRequest;
import io.mcpedge.v1.ListToolsRequest;
import io.mcpedge.v1.ListToolsResponse;
import io.mcpedge.v1.ResourceServiceGrpc;
import io.mcpedge.v1.ToolServiceGrpc;
import io.mcpedge.v1.WatchResourceRequest;
import io.mcpedge.v1.WatchResourcesRequest;
import io.mcpedge.v1.WatchToolsRequest;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(180)
class ServingTest {
  private final Capability s = new Capability("test", "1");

  /** Collects the messages of a stream, and its status. */
  private static final class Events<M> implements ClientResponseObserver<Object, M> {
    final BlockingQueue<Object> came = new LinkedBlockingQueue<>();
    ClientCallStreamObserver<Object> call;

    @Override
    public void beforeStart(ClientCallStreamObserver<Object> stream) {
      call = stream;
    }

    @Override
    public void onNext(M message) {
      came.add(message);
    }

    @Override
    public void onError(Throwable e) {
      came.add(Status.fromThrowable(e).getCode());
    }

    @Override
    public void onCompleted() {
      came.add("end");
    }

    String next() throws InterruptedException {
      Object next = came.poll(60, TimeUnit.SECONDS);
      return next == null ? "nothing" : next.toString().replaceAll("\\s+", " ").trim();
    }
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // the stubs want the types of the messages
  private static <M> io.grpc.stub.StreamObserver<M> observer(Events<?> events) {
    return (io.grpc.stub.StreamObserver) events;
  }

  private void gate(CountDownLatch begun, CompletableFuture<Boolean> ended) {
    s.tool("gate", "Waits", call -> {
      begun.countDown();
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException e) {
        ended.complete(call.cancelled());
        throw e;
      }
      return "";
    });
  }

  @Test
  void aCancellationInterruptsTheHandler() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<Boolean> ended = new CompletableFuture<>();
    gate(begun, ended);
    try (var client = new TestClient(s)) {
      Events<CallToolResponse> events = new Events<>();
      ToolServiceGrpc.newStub(client.channel()).callTool(CallToolRequest.newBuilder().setName("gate").build(), observer(events));
      begun.await();
      events.call.cancel("enough", null);
      assertTrue(ended.get(60, TimeUnit.SECONDS));
      assertEquals("CANCELLED", events.next());
    }
  }

  @Test
  void aDeadlineInterruptsTheHandler() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<Boolean> ended = new CompletableFuture<>();
    gate(begun, ended);
    try (var client = new TestClient(s)) {
      // The deadline of a call may pass before the server has seen it, which then runs no handler: the next call has more time.
      for (int seconds = 1; begun.getCount() > 0; seconds *= 2) {
        var stub = ToolServiceGrpc.newBlockingStub(client.channel()).withDeadlineAfter(seconds, TimeUnit.SECONDS);
        var e = assertThrows(StatusRuntimeException.class, () -> stub.callTool(CallToolRequest.newBuilder().setName("gate").build()).next());
        assertEquals(Status.Code.DEADLINE_EXCEEDED, e.getStatus().getCode());
      }
      assertTrue(ended.get(60, TimeUnit.SECONDS));
    }
  }

  /** The interrupt of a call does not affect the next call on its thread. */
  @Test
  void interruptsStayWithTheirCalls() throws Exception {
    s.executor(java.util.concurrent.Executors.newSingleThreadExecutor());
    CountDownLatch begun = new CountDownLatch(1);
    gate(begun, new CompletableFuture<>());
    s.tool("next", "Says whether it is interrupted", call -> "" + Thread.currentThread().isInterrupted());
    try (var client = new TestClient(s)) {
      Events<CallToolResponse> events = new Events<>();
      ToolServiceGrpc.newStub(client.channel()).callTool(CallToolRequest.newBuilder().setName("gate").build(), observer(events));
      begun.await();
      events.call.cancel("enough", null);
      assertEquals("false", client.callTool("next").text());
    }
  }

  @Test
  void theListsAreWatched() throws Exception {
    s.tool("a", "Is there", call -> "");
    try (var client = new TestClient(s)) {
      Events<Object> tools = new Events<>();
      Events<Object> one = new Events<>();
      Events<Object> parent = new Events<>();
      Events<Object> unknown = new Events<>();
      s.resource("test://dir/a", "a", "", (call, uri) -> "a");
      ToolServiceGrpc.newStub(client.channel()).watchTools(WatchToolsRequest.getDefaultInstance(), observer(tools));
      var resources = ResourceServiceGrpc.newStub(client.channel());
      resources.watchResource(WatchResourceRequest.newBuilder().setUri("test://dir/a").build(), observer(one));
      resources.watchResource(WatchResourceRequest.newBuilder().setUri("test://dir/").build(), observer(parent));
      resources.watchResource(WatchResourceRequest.newBuilder().setUri("test://none").build(), observer(unknown));
      for (Events<?> e : List.of(tools, one, parent)) {
        assertEquals("started { }", e.next());
      }
      assertEquals("NOT_FOUND", unknown.next());
      s.tool("b", "Came", call -> "");
      assertEquals("changed { }", tools.next());
      assertTrue(s.removeTool("b"));
      assertFalse(s.removeTool("b"));
      assertEquals("changed { }", tools.next());
      s.resourceUpdated("test://dir/b");
      s.resourceUpdated("test://dir/a");
      assertEquals("updated { uri: \"test://dir/a\" }", one.next());
      assertEquals("updated { uri: \"test://dir/b\" }", parent.next());
      s.close();
      for (Events<?> e : List.of(tools, one)) {
        assertEquals("UNAVAILABLE", e.next());
      }
    }
  }

  /** A provider has one watch, while there are watchers. */
  @Test
  void providersAreWatchedWhileSomeoneDoes() throws Exception {
    AtomicInteger watches = new AtomicInteger();
    CountDownLatch stopped = new CountDownLatch(1);
    s.provide("test://p/", new ResourceWatcher() {
      @Override
      public Runnable watch(Consumer<String> updated, Runnable listChanged) {
        watches.incrementAndGet();
        updated.accept("test://p/a");
        return stopped::countDown;
      }

      @Override
      public List<Resource> list() {
        return List.of(new Resource("test://p/a", "a"));
      }

      @Override
      public Object read(Call call, String uri) {
        return uri.endsWith("a") ? new byte[] {'a'} : null;
      }
    });
    try (var client = new TestClient(s)) {
      Events<Object> one = new Events<>();
      Events<Object> lists = new Events<>();
      var resources = ResourceServiceGrpc.newStub(client.channel());
      resources.watchResource(WatchResourceRequest.newBuilder().setUri("test://p/a").build(), observer(one));
      assertEquals("started { }", one.next());
      assertEquals("updated { uri: \"test://p/a\" }", one.next());
      resources.watchResources(WatchResourcesRequest.getDefaultInstance(), observer(lists));
      assertEquals("started { }", lists.next());
      assertEquals(1, watches.get());
      assertEquals("a", client.readResource("test://p/a").readResult().contents().get(0).text());
      assertEquals("there is no resource \"test://p/b\"", client.readResource("test://p/b").failure().getMessage());
      one.call.cancel("enough", null);
      lists.call.cancel("enough", null);
      assertTrue(stopped.await(60, TimeUnit.SECONDS));
    }
  }

  /** Begins a watch, and returns the function that ends it. */
  private interface Watch {
    Runnable begin() throws Exception;
  }

  private static ResourceWatcher watcher(Watch watch) {
    return new ResourceWatcher() {
      @Override
      public Runnable watch(Consumer<String> updated, Runnable listChanged) throws Exception {
        return watch.begin();
      }

      @Override
      public List<Resource> list() {
        return List.of();
      }

      @Override
      public Object read(Call call, String uri) {
        return null;
      }
    };
  }

  /** The other providers are stopped, the other feeds end, and running calls have their grace. */
  @Test
  void aStopThatThrowsStopsNothingElse() throws Exception {
    CountDownLatch stopped = new CountDownLatch(1);
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    s.provide("test://a/", watcher(() -> () -> {
      throw new IllegalStateException("it does not stop");
    }));
    s.provide("test://b/", watcher(() -> stopped::countDown));
    s.tool("quick", "Ends in time", call -> {
      begun.countDown();
      go.await();
      return "in time";
    });
    Logger log = Logger.getLogger("io.mcpedge.capability");
    log.setUseParentHandlers(false); // the fault is meant
    Serving serving = s.start("127.0.0.1:0");
    ManagedChannel channel = Grpc.newChannelBuilder("127.0.0.1:" + serving.port(), InsecureChannelCredentials.create()).build();
    try {
      Events<Object> lists = new Events<>();
      Events<Object> one = new Events<>();
      Events<Object> quick = new Events<>();
      ResourceServiceGrpc.newStub(channel).watchResources(WatchResourcesRequest.getDefaultInstance(), observer(lists));
      ResourceServiceGrpc.newStub(channel).watchResource(WatchResourceRequest.newBuilder().setUri("test://a/").build(), observer(one));
      ToolServiceGrpc.newStub(channel).callTool(CallToolRequest.newBuilder().setName("quick").build(), observer(quick));
      begun.await();
      for (Events<?> e : List.of(lists, one)) {
        assertEquals("started { }", e.next());
      }
      CompletableFuture<Void> closed = CompletableFuture.runAsync(serving::close);
      for (Events<?> e : List.of(lists, one)) {
        assertEquals("UNAVAILABLE", e.next());
      }
      assertTrue(stopped.await(60, TimeUnit.SECONDS));
      go.countDown();
      assertTrue(quick.next().contains("in time"));
      closed.get(60, TimeUnit.SECONDS);
    } finally {
      channel.shutdownNow();
      log.setUseParentHandlers(true);
    }
  }

  @Test
  void aWatchThatHangsDelaysNoStop() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    s.grace(Duration.ofMillis(100)).provide("test://p/", watcher(() -> {
      begun.countDown();
      go.await();
      return () -> {};
    }));
    Serving serving = s.start("127.0.0.1:0");
    ManagedChannel channel = Grpc.newChannelBuilder("127.0.0.1:" + serving.port(), InsecureChannelCredentials.create()).build();
    try {
      ResourceServiceGrpc.newStub(channel).watchResources(WatchResourcesRequest.getDefaultInstance(), observer(new Events<>()));
      begun.await();
      CompletableFuture.runAsync(serving::close).get(60, TimeUnit.SECONDS);
    } finally {
      go.countDown();
      channel.shutdownNow();
    }
  }

  @Test
  void anExecutorThatIsClosedFirstDelaysNoStop() throws Exception {
    AtomicReference<Thread> refused = new AtomicReference<>();
    s.executor(work -> {
      if (Thread.currentThread() == refused.get()) {
        throw new RejectedExecutionException("it is closed");
      }
      new Thread(work).start();
    });
    try (var client = new TestClient(s)) {
      Events<Object> tools = new Events<>();
      ToolServiceGrpc.newStub(client.channel()).watchTools(WatchToolsRequest.getDefaultInstance(), observer(tools));
      assertEquals("started { }", tools.next());
      refused.set(Thread.currentThread());
      s.close();
      refused.set(null);
      assertEquals("UNAVAILABLE", tools.next());
    }
  }

  @Test
  void listsComeInPages() {
    for (int i = 0; i < 5; i++) {
      s.tool("t" + i, "", call -> "");
    }
    try (var client = new TestClient(s)) {
      var stub = ToolServiceGrpc.newBlockingStub(client.channel());
      List<String> names = new ArrayList<>();
      String token = "";
      do {
        ListToolsResponse page = stub.listTools(ListToolsRequest.newBuilder().setPageSize(2).setPageToken(token).build());
        page.getToolsList().forEach(t -> names.add(t.getName()));
        token = page.getNextPageToken();
        s.removeTool("t0"); // shifts nothing
      } while (!token.isEmpty());
      assertEquals(List.of("t0", "t1", "t2", "t3", "t4"), names);
      for (String wrong : List.of("x", "-1", "0-a", "9")) {
        var e = assertThrows(StatusRuntimeException.class, () -> stub.listTools(ListToolsRequest.newBuilder().setPageToken(wrong).build()));
        assertEquals(Status.Code.INVALID_ARGUMENT, e.getStatus().getCode());
      }
    }
  }

  @Test
  void theHandlerIsCalledForACancelledTask() {
    List<String> cancelled = new ArrayList<>();
    s.onCancel("job", call -> cancelled.add(call.id()));
    try (var client = new TestClient(s)) {
      var request = CancelCallRequest.newBuilder().setName("job").setContext(Contexts.DEFAULT).build();
      ToolServiceGrpc.newBlockingStub(client.channel()).cancelCall(request);
      ToolServiceGrpc.newBlockingStub(client.channel()).cancelCall(request.toBuilder().setName("other").build());
      assertEquals(List.of("test"), cancelled);
    }
  }

  /** A running call may end within the grace. Health reports NOT_SERVING. */
  @Test
  void itStopsGracefully() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    s.grace(Duration.ofMinutes(2)).tool("quick", "Ends in time", call -> {
      begun.countDown();
      go.await();
      return "in time";
    });
    Serving serving = s.start("127.0.0.1:0");
    ManagedChannel channel = Grpc.newChannelBuilder("127.0.0.1:" + serving.port(), InsecureChannelCredentials.create()).build();
    var health = HealthGrpc.newBlockingStub(channel);
    for (String name : List.of("", ToolServiceGrpc.SERVICE_NAME)) {
      assertEquals(ServingStatus.SERVING, health.check(HealthCheckRequest.newBuilder().setService(name).build()).getStatus());
    }
    Events<Object> status = new Events<>();
    HealthGrpc.newStub(channel).watch(HealthCheckRequest.getDefaultInstance(), observer(status));
    assertEquals("status: SERVING", status.next());
    Events<Object> quick = new Events<>();
    ToolServiceGrpc.newStub(channel).callTool(CallToolRequest.newBuilder().setName("quick").build(), observer(quick));
    begun.await();
    CompletableFuture<Void> closed = CompletableFuture.runAsync(serving::close);
    assertEquals("status: NOT_SERVING", status.next());
    status.call.cancel("seen", null); // it would have the grace, too
    go.countDown();
    assertTrue(quick.next().contains("in time"));
    closed.get(60, TimeUnit.SECONDS);
    channel.shutdownNow();
  }

  /** A call that outlasts the grace is cancelled. */
  @Test
  void theGraceEnds() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<Boolean> ended = new CompletableFuture<>();
    gate(begun, ended);
    Serving serving = s.grace(Duration.ofMillis(100)).start("127.0.0.1:0");
    ManagedChannel channel = Grpc.newChannelBuilder("127.0.0.1:" + serving.port(), InsecureChannelCredentials.create()).build();
    Events<Object> gate = new Events<>();
    ToolServiceGrpc.newStub(channel).callTool(CallToolRequest.newBuilder().setName("gate").build(), observer(gate));
    begun.await();
    CompletableFuture.runAsync(serving::close).get(60, TimeUnit.SECONDS);
    assertTrue(ended.get(60, TimeUnit.SECONDS));
    assertEquals("UNAVAILABLE", gate.next());
    channel.shutdownNow();
  }

  @Test
  void itListensOnASocket(@TempDir Path folder) throws Exception {
    Path path = folder.resolve("s.sock");
    s.tool("t", "", call -> "");
    for (int i = 0; i < 2; i++) { // the second time there is a socket without a server
      try (Serving serving = s.start("unix:" + path)) {
        assertEquals(-1, serving.port());
        assertThrows(java.io.IOException.class, () -> s.start("unix:" + path));
      }
      if (i == 0) {
        java.nio.file.Files.deleteIfExists(path);
        try (var stale = java.nio.channels.ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX)) {
          stale.bind(java.net.UnixDomainSocketAddress.of(path));
        }
      }
    }
    for (String wrong : List.of("nowhere", "127.0.0.1:x", "127.0.0.1:70000")) {
      assertThrows(java.io.IOException.class, () -> s.start(wrong), wrong);
    }
  }

  @Test
  void whatIsNoSocketIsLeftAlone(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("file");
    java.nio.file.Files.writeString(file, "precious");
    Path link = java.nio.file.Files.createSymbolicLink(folder.resolve("link"), file);
    for (Path path : List.of(file, link, folder)) {
      var e = assertThrows(java.io.IOException.class, () -> s.start("unix:" + path));
      assertTrue(e.getMessage().contains(path + ": a file is there that is no socket"), e.getMessage());
    }
    assertEquals("precious", java.nio.file.Files.readString(link));
  }

  @Test
  void tracesGoOn() throws Exception {
    InMemorySpanExporter spans = InMemorySpanExporter.create();
    var provider = SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(spans)).build();
    s.telemetry(OpenTelemetrySdk.builder().setTracerProvider(provider).build());
    s.tool("t", "", call -> io.opentelemetry.api.trace.Span.current().getSpanContext().getTraceId());
    try (var client = new TestClient(s)) {
      Metadata headers = new Metadata();
      headers.put(Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
      var stub = ToolServiceGrpc.newBlockingStub(client.channel()).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
      ResourceServiceGrpc.newBlockingStub(client.channel()).listResources(ListResourcesRequest.getDefaultInstance()); // no span
      var response = stub.callTool(CallToolRequest.newBuilder().setName("t").build()).next();
      assertEquals("4bf92f3577b34da6a3ce929d0e0e4736", response.getResult().getContent(0).getText().getText());
    }
    while (spans.getFinishedSpanItems().isEmpty()) { // a span ends after its response
      Thread.sleep(10);
    }
    assertEquals("00f067aa0ba902b7", spans.getFinishedSpanItems().get(0).getParentSpanId());
    assertEquals(1, spans.getFinishedSpanItems().size());
    assertEquals("mcpedge.v1.ToolService/CallTool", spans.getFinishedSpanItems().get(0).getName());
  }

  @Test
  void templatesHaveTheValuesThatAllLibrariesAgreeOn() throws Exception {
    var vectors = new ObjectMapper().readTree(Path.of("../../tests/suites/capability/testdata/templates.json").toFile());
    assertTrue(vectors.size() > 0);
    for (JsonNode vector : vectors) {
      UriTemplate template = new UriTemplate(vector.get("template").asText());
      for (var tried : vector.get("uris").properties()) {
        JsonNode got = new ObjectMapper().valueToTree(template.match(tried.getKey()));
        assertEquals(tried.getValue(), got, vector.get("template") + " and " + tried.getKey());
      }
    }
  }

  @Test
  void templatesMatchTheirUris() {
    for (var tried : Map.of(
        "a://{x}", Map.of("a://b", "{x=b}", "a://b%2Fc", "{x=b/c}", "a://b/c", "null", "b://b", "null"),
        "a://x{/p}", Map.of("a://x/p%20q", "{p=p q}", "a://x", "{}"),
        "a://{+path}", Map.of("a://b/c+d", "{path=b/c+d}"),
        "a://{x}.{y}", Map.of("a://1.2.3", "{x=1.2, y=3}"),
        "a://{x,y}", Map.of("a://1,2,3", "{x=1, y=2,3}"),
        "a://{x}-{y}-{z}!", Map.of("a://" + "-".repeat(8000), "null"),
        "a://{x}{y}{z}!", Map.of("a://" + "-".repeat(8000), "null"),
        "a://{x}20{y}", Map.of("a://b%2020c", "{x=b , y=c}", "a://b%20c", "null"), // no value ends within %20
        "a://x{?q,r}", Map.of("a://x?q=1&r=2", "{q=1, r=2}", "a://x?r=2", "{r=2}", "a://x", "{}")).entrySet()) {
      UriTemplate template = new UriTemplate(tried.getKey());
      tried.getValue().forEach((uri, want) -> {
        var got = template.match(uri);
        assertEquals(want, got == null ? "null" : new java.util.TreeMap<>(got).toString(), tried.getKey() + " and " + uri);
      });
    }
    for (String wrong : List.of("", "a://{x", "a://{x*}", "a://{x:3}", "a://}")) {
      assertThrows(DefinitionException.class, () -> s.template(wrong, "t", "", (call, variables) -> ""), wrong);
    }
    for (String wrong : List.of("a://%zz", "a://%2", "a://%", "a://%-1")) {
      assertNull(new UriTemplate("a://{x}").match(wrong), wrong);
      assertNull(new UriTemplate("a://{+x}").match(wrong), wrong);
    }
    String longest = "a%20".repeat(250_000);
    for (String template : List.of("a://{x}", "a://{+x}")) {
      assertEquals(500_000, new UriTemplate(template).match("a://" + longest).get("x").length());
    }
  }

  /** Any URI is either read or NOT_FOUND. */
  @Test
  void everyUriIsAnswered() throws Exception {
    s.template("a://{x}", "a", "", (call, variables) -> variables.get("x")).template("b://{+path}", "b", "", (call, variables) -> variables.get("path"));
    try (var client = new TestClient(s)) {
      assertEquals(8000, client.readResource("a://" + "x".repeat(8000)).readResult().contents().get(0).text().length());
      for (String wrong : List.of("a://" + "x".repeat(8000) + "/x", "b://%zz")) {
        assertTrue(client.readResource(wrong).failure().getMessage().startsWith("there is no resource"));
        Events<Object> none = new Events<>();
        ResourceServiceGrpc.newStub(client.channel()).watchResource(WatchResourceRequest.newBuilder().setUri(wrong).build(), observer(none));
        assertEquals("NOT_FOUND", none.next());
      }
    }
  }

  /** Pending log messages of a slow reader are bounded, and the reader gets the number of dropped ones. */
  @Test
  void slowReadersGetTheLastProgress() throws Exception {
    CountDownLatch sent = new CountDownLatch(1);
    s.tool("flood", "Logs much", call -> {
      for (int i = 1; i <= 20_000; i++) {
        call.progress(i);
        call.log(Level.INFO, "x".repeat(100));
      }
      sent.countDown();
      return "";
    });
    try (Serving serving = s.start("127.0.0.1:0")) {
      ManagedChannel channel = Grpc.newChannelBuilder("127.0.0.1:" + serving.port(), InsecureChannelCredentials.create()).build();
      var stream = ToolServiceGrpc.newBlockingStub(channel)
          .callTool(CallToolRequest.newBuilder().setName("flood").setContext(Contexts.DEFAULT).build());
      sent.await(); // the client does not read meanwhile
      double last = 0;
      int messages = 0;
      String said = "";
      while (stream.hasNext()) {
        CallToolResponse m = stream.next();
        messages++;
        if (m.hasProgress()) {
          assertTrue(m.getProgress().getProgress() > last);
          last = m.getProgress().getProgress();
        } else if (m.hasLog()) {
          said = m.getLog().getDataJson();
        }
      }
      assertEquals(20_000, last);
      assertTrue(messages < 20_000, messages + " messages");
      assertTrue(said.contains("log messages were dropped"), said);
      channel.shutdownNow();
    }
  }
}
