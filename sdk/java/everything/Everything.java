import io.mcpedge.capability.Capability;
import io.mcpedge.capability.Handler;
import io.mcpedge.capability.ToolHandler;
import io.mcpedge.capability.ToolOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The fixtures that the official conformance suite expects of a server: one for each scenario, with the name and the
 * answer that it expects, as in services/everything.
 */
public final class Everything {
  static final Duration CACHE = Duration.ofSeconds(300);

  private Everything() {}

  public static void main(String[] argv) {
    Capability s = new Capability("mcpedge-everything", "1.0.0")
        .title("Everything")
        .description("The fixtures of the official conformance suite.")
        .instructions("Fixtures for tests; nothing here does anything useful.")
        .listCache(CACHE, true);
    ContentFixtures.add(s);
    RunningFixtures.add(s);
    AskingFixtures.add(s);
    RoundFixtures.add(s);
    TaskFixtures.add(s);
    ChangeFixtures.add(s);
    ResourceFixtures.add(s);
    PromptFixtures.add(s);
    s.serve(argv);
  }

  /** Adds a fixture that may be called repeatedly. */
  static void plain(Capability s, String name, String description, Handler<?> handler, ToolOption... more) {
    s.tool(name, description, handler, options(more));
  }

  static <A> void plain(Capability s, String name, String description, Class<A> arguments, ToolHandler<A, ?> handler, ToolOption... more) {
    s.tool(name, description, arguments, handler, options(more));
  }

  static ToolOption[] options(ToolOption... more) {
    List<ToolOption> all = new ArrayList<>(List.of(ToolOption.readOnly(), ToolOption.idempotent(), ToolOption.destructive(false), ToolOption.openWorld(false)));
    all.addAll(List.of(more));
    return all.toArray(ToolOption[]::new);
  }
}
