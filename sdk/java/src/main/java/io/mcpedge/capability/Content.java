package io.mcpedge.capability;

/**
 * One piece of a result or of a message. Its records are distinguished by {@code instanceof}, and by patterns of {@code switch} in Java
 * 21. The static methods create them. Bytes are raw, not base64. MCP: ContentBlock.
 */
public sealed interface Content permits TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource, RawContent {
  /** The text of a TextContent. Other content throws IllegalStateException. */
  default String text() {
    throw new IllegalStateException("the content is a " + getClass().getSimpleName() + ", not a TextContent");
  }

  /** Plain text. Lone surrogates become U+FFFD. */
  static TextContent text(String text) {
    return new TextContent(text);
  }

  /** An image. */
  static ImageContent image(byte[] data, String mimeType) {
    return new ImageContent(data, mimeType);
  }

  /** Audio. */
  static AudioContent audio(byte[] data, String mimeType) {
    return new AudioContent(data, mimeType);
  }

  /** A link to a resource that the client may read; URI and name are required. */
  static ResourceLink link(Resource resource) {
    return new ResourceLink(resource);
  }

  /** As link, with URI and name alone. */
  static ResourceLink link(String uri, String name) {
    return new ResourceLink(new Resource(uri, name));
  }

  /** Embeds the contents of a resource; their URI is required. */
  static EmbeddedResource embed(ResourceContents contents) {
    return new EmbeddedResource(contents);
  }

  /** A complete block as a JSON object with {@code type}, sent unchanged. */
  static RawContent raw(RawJson block) {
    return new RawContent(block);
  }

  /**
   * The text of a resource. For a read, an empty URI becomes the URI that was read, and an empty MIME type that of the resource or
   * template.
   */
  static TextResourceContents contents(String uri, String mimeType, String text) {
    return new TextResourceContents(uri, mimeType, text);
  }

  /** The bytes of a resource; empty fields are as with text. */
  static BlobResourceContents contents(String uri, String mimeType, byte[] blob) {
    return new BlobResourceContents(uri, mimeType, blob);
  }

  /** A turn of the user in a prompt. */
  static PromptMessage user(Content content) {
    return new PromptMessage(Role.USER, content);
  }

  /** A turn of the assistant in a prompt. */
  static PromptMessage assistant(Content content) {
    return new PromptMessage(Role.ASSISTANT, content);
  }
}
