import io.mcpedge.capability.Capability;
import io.mcpedge.capability.Level;
import java.util.List;
import java.util.Map;

/** The messages of tools while they run. */
final class RunningFixtures {
  private static final long STEP = 50;
  private static final long RECONNECTION = 3000;

  private RunningFixtures() {}

  static void add(Capability s) {
    Everything.plain(s, "test_tool_with_progress", "Reports progress: 0, 50 and 100 of 100", call -> {
      for (int percent : new int[] {0, 50, 100}) {
        Thread.sleep(percent > 0 ? STEP : 0);
        call.progress(percent, 100, "Completed step " + percent + " of 100");
      }
      return "Progress was reported.";
    });
    Everything.plain(s, "test_tool_with_logging", "Logs three messages on its way", call -> {
      for (String what : List.of("Tool execution started", "Tool processing data", "Tool execution completed")) {
        call.log(Level.INFO, what, "everything");
        Thread.sleep(STEP);
      }
      return "Messages were logged.";
    });
    Everything.plain(s, "test_logging_tool", "Logs one message of each level", call -> {
      for (Level level : Level.values()) {
        call.log(level, Map.of("message", "A message of level " + (level.ordinal() + 1)), "everything");
      }
      return "Messages of every level were logged.";
    });
    Everything.plain(s, "test_reconnection", "Takes so long that its stream may be closed and resumed meanwhile", call -> {
      Thread.sleep(RECONNECTION);
      return "The call ran to its end, whether the client was connected or not.";
    });
  }
}
