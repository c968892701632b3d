package io.mcpedge.capability;

import java.util.Map;

/**
 * An image. MCP: ImageContent.
 *
 * @param data raw bytes, not base64
 * @param mimeType such as image/png
 * @param annotations may be null
 * @param meta {@code _meta}; may be null
 */
public record ImageContent(byte[] data, String mimeType, Annotations annotations, Map<String, Object> meta) implements Content, SamplingContent {
  public ImageContent {
    data = Texts.given("the data of an ImageContent", data);
    mimeType = Texts.given("the MIME type of an ImageContent", mimeType);
  }

  public ImageContent(byte[] data, String mimeType) {
    this(data, mimeType, null, null);
  }

  /** The same with annotations. */
  public ImageContent withAnnotations(Annotations annotations) {
    return new ImageContent(data, mimeType, annotations, meta);
  }
}
