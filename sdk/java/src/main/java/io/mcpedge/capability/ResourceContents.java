package io.mcpedge.capability;

import java.util.Map;

/** Contents of a resource: a text, or bytes. MCP: ResourceContents. */
public sealed interface ResourceContents permits TextResourceContents, BlobResourceContents {
  /** The URI. Empty in the result of a read means the URI that was read. */
  String uri();

  /** The MIME type. Empty in the result of a read means that of the resource or template. */
  String mimeType();

  /** {@code _meta}; null if there is none. */
  Map<String, Object> meta();

  /** The text of TextResourceContents. Other contents throw IllegalStateException. */
  default String text() {
    throw new IllegalStateException("the contents are BlobResourceContents, not TextResourceContents");
  }
}
