package io.mcpedge.capability;

import java.util.List;

/**
 * How a client should use an object. MCP: Annotations.
 *
 * @param audience the intended readers; empty means all
 * @param priority its importance, 0 to 1; null means unknown
 * @param lastModified the time of its last change, by ISO 8601; empty means unknown
 */
public record Annotations(List<Role> audience, Double priority, String lastModified) {
  public Annotations {
    audience = audience == null ? List.of() : List.copyOf(audience);
    lastModified = Texts.orEmpty(lastModified);
  }

/** Annotations without a time. */
  public Annotations(List<Role> audience, Double priority) {
    this(audience, priority, "");
  }
}
