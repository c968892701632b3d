package io.mcpedge.capability;

import com.google.protobuf.ByteString;
import io.mcpedge.v1.*;
import java.util.stream.Collectors;

/** Creates the content of results, reads, prompts and questions. Bytes are raw, not base64. */
public final class Content {
  private Content() {}

  /** Plain text. What is no Unicode in it becomes U+FFFD. */
  public static ContentBlock text(String text) {
    return ContentBlock.newBuilder().setText(textContent(text)).build();
  }

  public static ContentBlock image(byte[] data, String mimeType) {
    return ContentBlock.newBuilder().setImage(ImageContent.newBuilder().setData(ByteString.copyFrom(data)).setMimeType(mimeType)).build();
  }

  public static ContentBlock audio(byte[] data, String mimeType) {
    return ContentBlock.newBuilder().setAudio(AudioContent.newBuilder().setData(ByteString.copyFrom(data)).setMimeType(mimeType)).build();
  }

  /** A link to a resource that the client may read; URI and name are required. */
  public static ContentBlock link(Resource resource) {
    return ContentBlock.newBuilder().setResourceLink(resource).build();
  }

  /** As link, with URI and name alone. */
  public static ContentBlock link(String uri, String name) {
    return link(Resource.newBuilder().setUri(uri).setName(name).build());
  }

  /** Embeds a resource's contents; their URI is required. */
  public static ContentBlock embed(ResourceContents contents) {
    return ContentBlock.newBuilder().setResource(contents).build();
  }

  /** A complete block as a JSON object with {@code type}, sent unchanged. */
  public static ContentBlock raw(RawJson block) {
    return ContentBlock.newBuilder().setRawJson(block.text()).build();
  }

  /**
   * The text of a resource. For a read, an empty URI becomes the one that was read, and an empty MIME type that of the resource
   * or template.
   */
  public static ResourceContents contents(String uri, String mimeType, String text) {
    return ResourceContents.newBuilder().setUri(uri).setMimeType(mimeType).setText(Json.valid(text)).build();
  }

  /** The bytes of a resource; empty fields are as with text. */
  public static ResourceContents contents(String uri, String mimeType, byte[] blob) {
    return ResourceContents.newBuilder().setUri(uri).setMimeType(mimeType).setBlob(ByteString.copyFrom(blob)).build();
  }

  /** A turn of the user in a prompt. */
  public static PromptMessage user(ContentBlock content) {
    return PromptMessage.newBuilder().setRole(Role.ROLE_USER).setContent(content).build();
  }

  /** A turn of the assistant in a prompt. */
  public static PromptMessage assistant(ContentBlock content) {
    return PromptMessage.newBuilder().setRole(Role.ROLE_ASSISTANT).setContent(content).build();
  }

  /** A turn of plain text for the client's model. */
  public static SamplingMessage samplingText(Role role, String text) {
    var content = SamplingContent.newBuilder().setText(textContent(text));
    return SamplingMessage.newBuilder().setRole(role).addContent(content).build();
  }

  /** The texts of what the client's model said, one line for each. */
  public static String said(CreateMessageResult result) {
    return result.getContentList().stream().filter(SamplingContent::hasText).map(c -> c.getText().getText()).collect(Collectors.joining("\n"));
  }

  private static TextContent textContent(String text) {
    return TextContent.newBuilder().setText(Json.valid(text)).build();
  }
}
