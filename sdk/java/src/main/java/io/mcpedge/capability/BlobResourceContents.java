package io.mcpedge.capability;

import java.util.Map;

/**
 * The bytes of a resource. MCP: BlobResourceContents.
 *
 * @param blob raw bytes, not base64
 */
public record BlobResourceContents(String uri, String mimeType, byte[] blob, Map<String, Object> meta) implements ResourceContents {
  public BlobResourceContents {
    uri = Texts.orEmpty(uri);
    mimeType = Texts.orEmpty(mimeType);
    blob = Texts.given("the blob of contents", blob);
  }

  public BlobResourceContents(String uri, String mimeType, byte[] blob) {
    this(uri, mimeType, blob, null);
  }
}
