import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Creates the project of the documentation's page in an empty folder, with the packed library from a local repository, and calls its tool
 * through an edge: Packed VERSION REPOSITORY FOLDER EDGE.
 */
public final class Packed {
  private static final int MOST_LINES = 15;
  private static final String CALL = """
      {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"},"_meta":{\
      "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}""";

  private Packed() {}

  public static void main(String[] args) throws Exception {
    String version = args[0];
    Path folder = Path.of(args[2]);
    String page = Files.readString(Path.of("../../docs/backends/java.md"));
    String program = write(page, "src/main/java/Hello.java", folder);
    String pom = write(page, "pom.xml", folder);
    check(program.strip().lines().count() <= MOST_LINES, "the tool of the page has more than " + MOST_LINES + " lines");
    check(Files.readString(Path.of("README.md")).contains("```java\n" + program + "```"), "README.md does not show the tool of the page");
    check(pom.contains("<version>" + version + "</version>"), "the page's pom.xml does not name the version " + version);
    run(folder, "mvn", "-q", "-B", "-Dmaven.repo.local=" + args[1], "package");

    List<Process> started = new ArrayList<>();
    try {
      // Ports that the system chooses: one that is free now may be another's when it is opened.
      Path backendLog = folder.resolve("backend.log");
      started.add(start(folder, backendLog, "java", "-cp", "target/classes:target/lib/*", "Hello", "--listen", "127.0.0.1:0"));
      String backend = logged(backendLog, " serves on ([0-9.:]+)", started);
      Path edgeLog = folder.resolve("edge.log");
      started.add(start(folder, edgeLog, args[3], "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--backend", "hello=" + backend));
      String answer = answered(logged(edgeLog, "endpoint=(\\S+)", started), started);
      check(answer.contains("\"content\":[{\"type\":\"text\",\"text\":\"Hello, Ada\"}]"), answer);
    } finally {
      for (int i = started.size() - 1; i >= 0; i--) {
        started.get(i).destroy();
        check(started.get(i).waitFor(60, TimeUnit.SECONDS), "a process does not end");
      }
    }
    check(started.get(0).exitValue() == 0, "the backend ended with " + started.get(0).exitValue());
    System.out.println("mcpedge-capability " + version + ": greet answered through an edge, from an empty project");
  }

  /** Writes a file of the page, and returns its text. */
  private static String write(String page, String name, Path folder) throws IOException {
    Matcher m = Pattern.compile("Write `" + Pattern.quote(name) + "`:\n\n```\\w+\n(.*?)```", Pattern.DOTALL).matcher(page);
    check(m.find(), "the page has no " + name);
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, m.group(1));
    return m.group(1);
  }

  /** Calls the tool until the edge has it. */
  private static String answered(String endpoint, List<Process> started) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(endpoint)).header("Content-Type", "application/json")
        .header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", "tools/call").header("Mcp-Name", "greet")
        .POST(HttpRequest.BodyPublishers.ofString(CALL)).build();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
    String last = "";
    while (System.nanoTime() < end && !last.contains("\"result\"")) {
      check(started.stream().allMatch(Process::isAlive), "the backend or the edge has ended");
      try {
        last = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
      } catch (IOException e) {
        last = e.toString();
      }
      Thread.sleep(100);
    }
    return last;
  }

  private static Process start(Path folder, Path log, String... command) throws IOException {
    return new ProcessBuilder(command).directory(folder.toFile()).redirectError(log.toFile()).start();
  }

  /** Returns what the group of a pattern is in a log, once it is there. */
  private static String logged(Path log, String pattern, List<Process> started) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
    while (true) {
      boolean alive = started.stream().allMatch(Process::isAlive);
      String text = Files.readString(log);
      Matcher m = Pattern.compile(pattern).matcher(text.substring(0, text.lastIndexOf('\n') + 1)); // whole lines
      if (m.find()) {
        return m.group(1);
      }
      check(alive && System.nanoTime() < end, "there is no \"" + pattern + "\" in the log:\n" + text);
      Thread.sleep(100);
    }
  }

  private static void run(Path folder, String... command) throws Exception {
    check(new ProcessBuilder(command).directory(folder.toFile()).inheritIO().start().waitFor() == 0, String.join(" ", command) + " failed");
  }

  private static void check(boolean holds, String otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }
}
