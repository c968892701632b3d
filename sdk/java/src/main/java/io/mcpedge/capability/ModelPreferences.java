package io.mcpedge.capability;

import java.util.List;

/**
 * Which model to use: names, best first, and how important each property is, 0 to 1. MCP: ModelPreferences.
 *
 * @param costPriority null, as the others: unknown
 */
public record ModelPreferences(List<String> hints, Double costPriority, Double speedPriority, Double intelligencePriority) {
  public ModelPreferences {
    hints = hints == null ? List.of() : List.copyOf(hints);
  }
}
