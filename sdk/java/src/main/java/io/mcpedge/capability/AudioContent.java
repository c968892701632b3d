package io.mcpedge.capability;

import java.util.Map;

/**
 * Audio. MCP: AudioContent.
 *
 * @param data raw bytes, not base64
 * @param mimeType such as audio/wav
 * @param annotations may be null
 * @param meta {@code _meta}; may be null
 */
public record AudioContent(byte[] data, String mimeType, Annotations annotations, Map<String, Object> meta) implements Content, SamplingContent {
  public AudioContent {
    data = Texts.given("the data of an AudioContent", data);
    mimeType = Texts.given("the MIME type of an AudioContent", mimeType);
  }

  public AudioContent(byte[] data, String mimeType) {
    this(data, mimeType, null, null);
  }

  /** The same with annotations. */
  public AudioContent withAnnotations(Annotations annotations) {
    return new AudioContent(data, mimeType, annotations, meta);
  }
}
