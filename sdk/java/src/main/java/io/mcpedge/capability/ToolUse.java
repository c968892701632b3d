package io.mcpedge.capability;

/**
 * A call of a tool by the client's model. MCP: ToolUseContent.
 *
 * @param input the arguments, a JSON object
 */
public record ToolUse(String id, String name, RawJson input) implements SamplingContent {
  public ToolUse {
    id = Texts.given("the id of a use of a tool", id);
    name = Texts.given("the name of a used tool", name);
    input = input == null ? new RawJson("{}") : input;
  }
}
