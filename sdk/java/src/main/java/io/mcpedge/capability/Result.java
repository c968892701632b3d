package io.mcpedge.capability;

import io.mcpedge.v1.CallToolResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A complete tool result, for tools that combine content with structured content, fail with content, or set {@code _meta}. MCP:
 * CallToolResult.
 *
 * @param content may be empty; with structured content the edge then adds its serialization as text
 * @param structuredContent any value that encodes as JSON, a RawJson verbatim; may be null
 * @param isError the tool failed in a way that the model should see
 * @param meta {@code _meta}, null means that of {@link Call#setMeta}
 */
public record Result(List<Content> content, Object structuredContent, boolean isError, Map<String, Object> meta) {
  public Result {
    content = List.copyOf(content);
  }

  public static Result of(Content... content) {
    return new Result(List.of(content), null, false, null);
  }

  public static Result structured(Object value) {
    return new Result(List.of(), value, false, null);
  }

  /** A failure that the model sees and can act on. */
  public static Result error(String text) {
    return new Result(List.of(Content.text(text)), null, true, null);
  }

  public Result withMeta(Map<String, Object> object) {
    return new Result(content, structuredContent, isError, object);
  }

  public static Builder builder() {
    return new Builder();
  }

  /** Sets the members of a Result. */
  public static final class Builder {
    private final List<Content> content = new ArrayList<>();
    private Object structuredContent;
    private boolean isError;
    private Map<String, Object> meta;

    private Builder() {}

    /** Replaces the content. */
    public Builder content(List<? extends Content> content) {
      this.content.clear();
      this.content.addAll(content);
      return this;
    }

    public Builder addContent(Content content) {
      this.content.add(content);
      return this;
    }

    public Builder addTextContent(String text) {
      return addContent(Content.text(text));
    }

    public Builder structuredContent(Object value) {
      structuredContent = value;
      return this;
    }

    public Builder isError(boolean isError) {
      this.isError = isError;
      return this;
    }

    public Builder meta(Map<String, Object> meta) {
      this.meta = meta;
      return this;
    }

    public Result build() {
      return new Result(content, structuredContent, isError, meta);
    }
  }

  CallToolResult wire() {
    var out = CallToolResult.newBuilder().addAllContent(content.stream().map(Wire::content).toList()).setIsError(isError);
    if (structuredContent != null) {
      out.setStructuredContentJson(Json.encode(structuredContent));
    }
    return out.setMetaJson(Wire.meta(meta)).build();
  }
}
