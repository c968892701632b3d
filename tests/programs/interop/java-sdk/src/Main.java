import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Drives an edge with the official Java SDK, in its newest revision. */
public final class Main {
    private final Steps s;
    private final List<McpSchema.ProgressNotification> progress = new CopyOnWriteArrayList<>();
    private final List<McpSchema.LoggingMessageNotification> logged = new CopyOnWriteArrayList<>();
    private final AtomicInteger toolsChanged = new AtomicInteger();
    private volatile McpSchema.ElicitResult.Action action = McpSchema.ElicitResult.Action.ACCEPT;
    private McpSyncClient client;
    private boolean oldest; // the revision is the oldest: the only one that the SDK has over HTTP+SSE

    private Main(Steps s) {
        this.s = s;
    }

    public static void main(String[] args) {
        Main m = new Main(new Steps(args));
        String jar = McpClient.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        System.out.println("uses io.modelcontextprotocol.sdk:mcp " + jar.replaceAll(".*/mcp-core-(.*)\\.jar", "$1"));
        System.out.println("lacks cancellation: its synchronous client has no call for it");
        System.out.println("notes kill: it does not notice that the stream of the call was cut: the call ends by `requestTimeout`");
        m.run();
        System.exit(0);
    }

    private McpClientTransport transport() {
        if (s.url != null) {
            return HttpClientStreamableHttpTransport.builder(Steps.base(s.url)).endpoint("/mcp").openConnectionOnStartup(true).build();
        }
        if (s.sse != null) {
            return HttpClientSseClientTransport.builder(Steps.base(s.sse)).sseEndpoint("/sse").build();
        }
        ServerParameters p = ServerParameters.builder(s.command.get(0)).args(s.command.subList(1, s.command.size())).build();
        return new StdioClientTransport(p, McpJsonDefaults.getMapper());
    }

    private McpSchema.ElicitResult elicit(McpSchema.ElicitFormRequest request) {
        Map<String, Object> content = Map.of("seat", "aisle", "room", "suite", "insurance", true);
        if (request.message().startsWith("Book ")) {
            content = Map.of("confirm", true);
        }
        return new McpSchema.ElicitResult(action, action == McpSchema.ElicitResult.Action.ACCEPT ? content : null);
    }

    private McpSchema.CallToolResult call(String name, Map<String, Object> arguments, Object token) {
        McpSchema.CallToolRequest.Builder b = McpSchema.CallToolRequest.builder(name).arguments(arguments);
        if (token != null) {
            b.progressToken(token);
        }
        return client.callTool(b.build());
    }

    private McpSchema.CallToolResult call(String name, Map<String, Object> arguments) {
        return call(name, arguments, null);
    }

    private static String text(McpSchema.CallToolResult r) {
        StringBuilder all = new StringBuilder();
        for (McpSchema.Content c : r.content()) {
            if (c instanceof McpSchema.TextContent t) {
                all.append(t.text());
            }
        }
        return all.toString();
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> structured(McpSchema.CallToolResult r) {
        return (Map<String, Object>) r.structuredContent();
    }

    private void run() {
        s.step("initialize", () -> {
            client = McpClient.sync(transport())
                    .requestTimeout(Duration.ofSeconds(s.drain != null ? 20 : 50)) // with a killed replica a call lasts as long
                    .capabilities(McpSchema.ClientCapabilities.builder().roots(true).sampling().elicitation().build())
                    .roots(new McpSchema.Root("file:///project/a", "A"))
                    .elicitation(this::elicit)
                    .sampling(r -> McpSchema.CreateMessageResult.builder(McpSchema.Role.ASSISTANT, "Take the first one.", "interop-model").build())
                    .progressConsumer(progress::add)
                    .loggingConsumer(logged::add)
                    .toolsChangeConsumer(tools -> toolsChanged.incrementAndGet())
                    .build();
            McpSchema.InitializeResult got = client.initialize();
            System.out.println("speaks " + got.protocolVersion());
            oldest = got.protocolVersion().equals("2024-11-05");
            Steps.equal(got.serverInfo().name(), "mcpedge", "server");
        });
        tools();
        asking();
        others();
        running();
        if (s.drain != null) {
            drained();
        }
        s.step("close", () -> Steps.equal(client.closeGracefully(), true, "closed"));
    }

    private void tools() {
        s.step("tools/list", () -> {
            List<String> names = client.listTools().tools().stream().map(McpSchema.Tool::name).toList(); // of all pages
            for (String name : List.of("calculator_arithmetic", "book_trip", "countdown")) {
                Steps.contains(names, name, "names");
            }
        });
        s.step("tools/call structured", () -> {
            McpSchema.CallToolResult r = call("calculator_arithmetic", Map.of("expression", "2*(3+4)^2"));
            Steps.equal(text(r), "98", "text");
            if (!oldest) { // which has no structured content
                Steps.equal(((Number) structured(r).get("result")).intValue(), 98, "result");
            }
        });
        s.step("tools/call failing tool", () -> {
            McpSchema.CallToolResult r = call("calculator_arithmetic", Map.of("expression", "1/0"));
            Steps.equal(r.isError(), true, "isError");
            Steps.contains(text(r), "division by zero", "text");
            McpError e = Steps.fails(() -> call("no_such_tool", Map.of()), McpError.class);
            Steps.contains(e.getMessage(), "no_such_tool", "error");
        });
        s.step("tools/call in parallel", () -> {
            List<CompletableFuture<String>> all = new ArrayList<>();
            for (int n = 0; n < 20; n++) {
                String expression = n + "*2";
                all.add(CompletableFuture.supplyAsync(() -> text(call("calculator_arithmetic", Map.of("expression", expression)))));
            }
            for (int n = 0; n < 20; n++) {
                Steps.equal(all.get(n).get(), String.valueOf(n * 2), "result");
            }
        });
    }

    private void asking() {
        Map<McpSchema.ElicitResult.Action, String> outcomes = Map.of(
                McpSchema.ElicitResult.Action.DECLINE, "declined",
                McpSchema.ElicitResult.Action.CANCEL, "cancelled",
                McpSchema.ElicitResult.Action.ACCEPT, "booked");
        if (!oldest) outcomes.forEach((answer, status) -> s.step("elicitation " + status, () -> {
            action = answer;
            Steps.equal(structured(call("book_trip", Map.of("destination", "Lisbon", "nights", 2))).get("status"), status, "status");
        }));
        s.step("sampling", () -> Steps.contains(
                text(call("recommend_flight", Map.of("origin", "Zurich", "destination", "Barcelona"))), "Take the first one.", "text"));
        s.step("roots", () -> Steps.contains(text(call("list_workspace", Map.of())), "file:///project/a", "text"));
    }

    private void others() {
        s.step("resources", () -> {
            Steps.contains(client.listResources().resources().stream().map(McpSchema.Resource::name).toList(), "note.txt", "names");
            String uri = Path.of(s.dir, "note.txt").toAbsolutePath().toUri().toString();
            McpSchema.ResourceContents got = client.readResource(new McpSchema.ReadResourceRequest(uri)).contents().get(0);
            Steps.equal(((McpSchema.TextResourceContents) got).text(), "first\n", "text");
            Steps.equal(client.listResourceTemplates().resourceTemplates().isEmpty(), false, "no templates");
        });
        s.step("prompts", () -> {
            Steps.contains(client.listPrompts().prompts().stream().map(McpSchema.Prompt::name).toList(), "plan-vacation", "names");
            McpSchema.GetPromptResult r =
                    client.getPrompt(new McpSchema.GetPromptRequest("plan-vacation", Map.of("destination", "Lisbon", "days", "3")));
            Steps.contains(((McpSchema.TextContent) r.messages().get(0).content()).text(), "3 days in Lisbon", "prompt");
        });
        s.step("completion", () -> {
            McpSchema.CompleteResult r = client.completeCompletion(new McpSchema.CompleteRequest(
                    new McpSchema.PromptReference("code_review"), new McpSchema.CompleteRequest.CompleteArgument("language", "Ja")));
            Steps.equal(r.completion().values(), List.of("Java", "JavaScript"), "values");
        });
    }

    private List<Integer> progressed() {
        return progress.stream().map(p -> p.progress().intValue()).toList();
    }

    private static List<Integer> upTo(int n) {
        return IntStream.rangeClosed(1, n).boxed().toList();
    }

    private void running() {
        s.step("progress", () -> {
            progress.clear();
            Steps.contains(text(call("countdown", Map.of("steps", 4, "interval_ms", 40), "counted")), "Counted down 4 steps", "text");
            Steps.await(() -> progress.size() >= 4);
            Steps.equal(progressed(), upTo(4), "progress");
        });
        s.step("logging", () -> {
            client.setLoggingLevel(McpSchema.LoggingLevel.INFO);
            logged.clear();
            call("countdown", Map.of("steps", 3, "interval_ms", 20));
            Steps.await(() -> logged.size() >= 3);
            Steps.equal(logged.get(0).data(), "step 1 of 3, 2 left", "message");
            client.setLoggingLevel(McpSchema.LoggingLevel.EMERGENCY);
        });
        s.step("list changed", () -> {
            int before = toolsChanged.get();
            call("test_trigger_tool_change", Map.of());
            Steps.await(() -> toolsChanged.get() > before);
        });
    }

    private void drained() {
        s.step("a replica drained in a call", () -> {
            progress.clear();
            CompletableFuture<String> call =
                    CompletableFuture.supplyAsync(() -> text(call("countdown", Map.of("steps", 30, "interval_ms", 100), "drained")));
            Steps.await(() -> progress.size() >= 3);
            Steps.post(s.drain);
            Steps.contains(call.get(), "Counted down 30 steps", "text");
            Steps.await(() -> progress.size() >= 30);
            Steps.equal(progressed(), upTo(30), "progress");
        });
        s.step("a call on the other replica", () -> Steps.equal(text(call("calculator_arithmetic", Map.of("expression", "1+1"))), "2", "text"));
        s.step("a call after its replica was killed", () -> {
            Steps.post(s.drain + "/restore");
            progress.clear();
            CompletableFuture<String> call =
                    CompletableFuture.supplyAsync(() -> text(call("countdown", Map.of("steps", 30, "interval_ms", 100), "killed")));
            Steps.await(() -> progress.size() >= 3);
            Steps.post(s.drain + "/kill");
            Steps.fails(call::get, ExecutionException.class);
            Steps.equal(text(call("calculator_arithmetic", Map.of("expression", "1+1"))), "2", "text of the next call");
        });
    }
}
