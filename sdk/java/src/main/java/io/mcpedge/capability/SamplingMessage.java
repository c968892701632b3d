package io.mcpedge.capability;

import java.util.List;
import java.util.Map;

/**
 * A turn of a request to the client's model. MCP: SamplingMessage.
 *
 * @param meta {@code _meta}; may be null
 */
public record SamplingMessage(Role role, List<SamplingContent> content, Map<String, Object> meta) {
  public SamplingMessage {
    role = Texts.given("the role of a message", role);
    content = List.copyOf(content);
  }

  public SamplingMessage(Role role, SamplingContent... content) {
    this(role, List.of(content), null);
  }

  /** A turn of plain text. */
  public SamplingMessage(Role role, String text) {
    this(role, new TextContent(text));
  }
}
