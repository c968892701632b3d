package io.mcpedge.capability;

import java.util.List;

/**
 * The result of a ToolUse for the client's model. MCP: ToolResultContent.
 *
 * @param structuredContent any value that encodes as JSON, a RawJson verbatim; may be null
 */
public record ToolResult(String toolUseId, List<Content> content, Object structuredContent, boolean isError) implements SamplingContent {
  public ToolResult {
    toolUseId = Texts.given("the id of the use of a tool", toolUseId);
    content = List.copyOf(content);
  }
}
