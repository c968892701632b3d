package io.mcpedge.capability;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The response of the client's model. MCP: CreateMessageResult.
 *
 * @param model its name
 * @param stopReason such as endTurn; empty means unknown
 * @param meta {@code _meta}; may be null
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
