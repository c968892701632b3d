package io.mcpedge.capability;

import java.util.List;

/**
 * How a client should use an object. MCP: Annotations.
 *
 * @param audience for whom it is; empty: everybody
 * @param priority its importance, 0 to 1; null: unknown
 * @param lastModified the time of its last change, by ISO 8601; empty: unknown
 */
public record Annotations(List<Role> audience, Double priority, String lastModified) {
  public Annotations {
    audience = audience == null ? List.of() : List.copyOf(audience);
    lastModified = Texts.orEmpty(lastModified);
  }

  /** As above, without a time. */
  public Annotations(List<Role> audience, Double priority) {
    this(audience, priority, "");
  }
}
