package io.mcpedge.capability;

import java.util.Map;

/** Contents of a resource: a text, or bytes. MCP: ResourceContents. */
public sealed interface ResourceContents permits TextResourceContents, BlobResourceContents {
  /** Empty for a read: the URI that was read. */
  String uri();

  /** Empty for a read: that of the resource or template. */
  String mimeType();

  /** {@code _meta}; null: none. */
  Map<String, Object> meta();

  /** The text of TextResourceContents. Other contents throw IllegalStateException. */
  default String text() {
    throw new IllegalStateException("the contents are BlobResourceContents, not TextResourceContents");
  }
}
