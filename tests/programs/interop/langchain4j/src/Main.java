import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.exception.ToolExecutionException;
import dev.langchain4j.mcp.client.DefaultMcpClient;
import dev.langchain4j.mcp.client.McpClient;
import dev.langchain4j.mcp.client.McpPrompt;
import dev.langchain4j.mcp.client.McpResource;
import dev.langchain4j.mcp.client.McpRoot;
import dev.langchain4j.mcp.client.McpTextContent;
import dev.langchain4j.mcp.client.McpTextResourceContents;
import dev.langchain4j.mcp.client.transport.McpTransport;
import dev.langchain4j.mcp.client.transport.http.HttpMcpTransport;
import dev.langchain4j.mcp.client.transport.http.StreamableHttpMcpTransport;
import dev.langchain4j.mcp.client.transport.stdio.StdioMcpTransport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;

/** Drives an edge with LangChain4j's MCP client. */
public final class Main {
    private static final String VERSION = "2025-11-25";

    private final Steps s;
    private final List<Integer> progress = new CopyOnWriteArrayList<>();
    private final List<String> updated = new CopyOnWriteArrayList<>();
    private McpClient client;

    private Main(Steps s) {
        this.s = s;
    }

    public static void main(String[] args) {
        Main m = new Main(new Steps(args));
        String jar = McpClient.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        System.out.println("uses dev.langchain4j:langchain4j-mcp " + jar.replaceAll(".*/langchain4j-mcp-(.*)\\.jar", "$1"));
        System.out.println("lacks elicitation: it declares roots only");
        System.out.println("notes kill: the call ends with an error, as it does not come back to its stream; the next one succeeds");
        System.out.println("lacks sampling: it declares roots only");
        System.out.println("lacks completion: its client has no call for it");
        System.out.println("lacks cancellation: its client has no call for it");
        m.run();
        System.exit(0);
    }

    private McpTransport transport() {
        if (s.url != null) {
            return new StreamableHttpMcpTransport.Builder().url(s.url).subsidiaryChannel(true).build();
        }
        if (s.sse != null) {
            return new HttpMcpTransport.Builder().sseUrl(s.sse).build();
        }
        return new StdioMcpTransport.Builder().command(s.command).build();
    }

    private dev.langchain4j.service.tool.ToolExecutionResult call(String name, String arguments) {
        return client.executeTool(ToolExecutionRequest.builder().id("1").name(name).arguments(arguments).build());
    }

    private String text(String name, String arguments) {
        return call(name, arguments).resultText();
    }

    private void run() {
        s.step("initialize", () -> {
            client = new DefaultMcpClient.Builder()
                    .transport(transport())
                    .clientName("interop-langchain4j")
                    .protocolVersion(VERSION)
                    .toolExecutionTimeout(Duration.ofSeconds(50))
                    .roots(List.of(new McpRoot("A", "file:///project/a")))
                    .progressHandler(p -> progress.add((int) p.progress()))
                    .onResourceUpdated((c, uri) -> updated.add(uri))
                    .build();
            client.checkHealth();
            System.out.println("speaks " + VERSION);
        });
        s.step("tools/list", () -> {
            List<String> names = client.listTools().stream().map(ToolSpecification::name).toList();
            for (String name : List.of("calculator_arithmetic", "book_trip", "countdown")) {
                Steps.contains(names, name, "names");
            }
        });
        s.step("tools/call", () -> Steps.contains(text("calculator_arithmetic", "{\"expression\": \"2*(3+4)^2\"}"), "98", "text"));
        s.step("tools/call failing tool", () -> {
            var e = Steps.fails(() -> call("calculator_arithmetic", "{\"expression\": \"1/0\"}"), ToolExecutionException.class);
            Steps.contains(e.getMessage(), "division by zero", "error");
        });
        s.step("tools/call in parallel", () -> {
            List<CompletableFuture<String>> all = new ArrayList<>();
            for (int n = 0; n < 20; n++) {
                String arguments = "{\"expression\": \"" + n + "*2\"}";
                all.add(CompletableFuture.supplyAsync(() -> text("calculator_arithmetic", arguments)));
            }
            for (int n = 0; n < 20; n++) {
                Steps.contains(all.get(n).get(), String.valueOf(n * 2), "result");
            }
        });
        s.step("roots", () -> Steps.contains(text("list_workspace", "{}"), "file:///project/a", "text"));
        others();
        running();
        if (s.drain != null) {
            drained();
        }
        s.step("close", () -> client.close());
    }

    private void others() {
        s.step("resources", () -> {
            Steps.contains(client.listResources().stream().map(McpResource::name).toList(), "note.txt", "names");
            String uri = Path.of(s.dir, "note.txt").toAbsolutePath().toUri().toString();
            Steps.equal(((McpTextResourceContents) client.readResource(uri).contents().get(0)).text(), "first\n", "text");
            Steps.equal(client.listResourceTemplates().isEmpty(), false, "no templates");
        });
        s.step("prompts", () -> {
            Steps.contains(client.listPrompts().stream().map(McpPrompt::name).toList(), "plan-vacation", "names");
            var r = client.getPrompt("plan-vacation", Map.of("destination", "Lisbon", "days", "3"));
            Steps.contains(((McpTextContent) r.messages().get(0).content()).text(), "3 days in Lisbon", "prompt");
        });
        s.step("subscriptions", () -> {
            Path file = Path.of(s.dir, "langchain4j-" + ProcessHandle.current().pid() + ".txt").toAbsolutePath();
            String uri = file.toUri().toString();
            Files.writeString(file, "one\n");
            client.subscribeToResource(uri);
            Files.writeString(file, "two\n");
            Steps.await(() -> updated.contains(uri));
            client.unsubscribeFromResource(uri);
            Files.delete(file);
        });
    }

    private static List<Integer> upTo(int n) {
        return IntStream.rangeClosed(1, n).boxed().toList();
    }

    private void running() {
        s.step("progress", () -> {
            progress.clear();
            Steps.contains(text("countdown", "{\"steps\": 4, \"interval_ms\": 40}"), "Counted down 4 steps", "text");
            Steps.await(() -> progress.size() >= 4);
            Steps.equal(List.copyOf(progress), upTo(4), "progress");
        });
    }

    private void drained() {
        s.step("a replica drained in a call", () -> {
            progress.clear();
            CompletableFuture<String> call =
                    CompletableFuture.supplyAsync(() -> text("countdown", "{\"steps\": 30, \"interval_ms\": 100}"));
            Steps.await(() -> progress.size() >= 3);
            Steps.post(s.drain);
            Steps.contains(call.get(), "Counted down 30 steps", "text");
            Steps.await(() -> progress.size() >= 30);
            Steps.equal(List.copyOf(progress), upTo(30), "progress");
        });
        s.step("a call on the other replica", () -> Steps.contains(text("calculator_arithmetic", "{\"expression\": \"1+1\"}"), "2", "text"));
        s.step("a call after its replica was killed", () -> {
            Steps.post(s.drain + "/restore");
            progress.clear();
            CompletableFuture<String> call =
                    CompletableFuture.supplyAsync(() -> text("countdown", "{\"steps\": 30, \"interval_ms\": 100}"));
            Steps.await(() -> progress.size() >= 3);
            Steps.post(s.drain + "/kill");
            Steps.fails(call::get, ExecutionException.class);
            Steps.contains(text("calculator_arithmetic", "{\"expression\": \"1+1\"}"), "2", "text of the next call");
        });
    }
}
