package io.mcpedge.capability;

import java.util.Map;

/**
 * Plain text. MCP: TextContent.
 *
 * @param annotations may be null
 * @param meta {@code _meta}; may be null
 */
public record TextContent(String text, Annotations annotations, Map<String, Object> meta) implements Content, SamplingContent {
  public TextContent {
    text = Texts.given("the text of content", text);
  }

  public TextContent(String text) {
    this(text, null, null);
  }

  /** The same text with annotations. */
  public TextContent withAnnotations(Annotations annotations) {
    return new TextContent(text, annotations, meta);
  }
}
