package io.mcpedge.capability;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What the client's model answered. MCP: CreateMessageResult.
 *
 * @param model its name
 * @param stopReason such as endTurn; empty: unknown
 * @param meta {@code _meta}; null: none
 */
public record SamplingResult(Role role, List<SamplingContent> content, String model, String stopReason, Map<String, Object> meta) {
  public SamplingResult {
    content = List.copyOf(content);
    model = Texts.orEmpty(model);
    stopReason = Texts.orEmpty(stopReason);
  }

  /** The texts of the answer, one line for each. */
  public String text() {
    return content.stream().filter(TextContent.class::isInstance).map(c -> ((TextContent) c).text()).collect(Collectors.joining("\n"));
  }
}
