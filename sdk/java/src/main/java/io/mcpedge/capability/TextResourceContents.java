package io.mcpedge.capability;

import java.util.Map;

/** The text of a resource. MCP: TextResourceContents. */
public record TextResourceContents(String uri, String mimeType, String text, Map<String, Object> meta) implements ResourceContents {
  public TextResourceContents {
    uri = Texts.orEmpty(uri);
    mimeType = Texts.orEmpty(mimeType);
    text = Texts.given("the text of contents", text);
  }

  public TextResourceContents(String uri, String mimeType, String text) {
    this(uri, mimeType, text, null);
  }
}
