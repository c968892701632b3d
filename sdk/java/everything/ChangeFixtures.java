import io.mcpedge.capability.Capability;
import io.mcpedge.capability.ToolOption;

/** Tools that change the lists: one call adds an entry, the next removes it. */
final class ChangeFixtures {
  private ChangeFixtures() {}

  static void add(Capability s) {
    Object lock = new Object();
    ToolOption harmless = ToolOption.destructive(false);
    ToolOption closed = ToolOption.openWorld(false);
    s.tool("test_trigger_tool_change", "Adds a tool, or removes it again", call -> {
      synchronized (lock) {
        if (s.removeTool("test_dynamic_tool")) {
          return "Removed test_dynamic_tool.";
        }
        Everything.plain(s, "test_dynamic_tool", "Comes and goes by test_trigger_tool_change", dynamic -> "This tool is here for now.");
        return "Added test_dynamic_tool.";
      }
    }, harmless, closed);
    s.tool("test_trigger_prompt_change", "Adds a prompt, or removes it again", call -> {
      synchronized (lock) {
        if (s.removePrompt("test_dynamic_prompt")) {
          return "Removed test_dynamic_prompt.";
        }
        s.prompt("test_dynamic_prompt", "Comes and goes by test_trigger_prompt_change", dynamic -> "This prompt is here for now.");
        return "Added test_dynamic_prompt.";
      }
    }, harmless, closed);
  }
}
