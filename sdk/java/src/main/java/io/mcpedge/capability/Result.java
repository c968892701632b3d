package io.mcpedge.capability;

import io.mcpedge.v1.CallToolResult;
import io.mcpedge.v1.ContentBlock;
import java.util.List;

/**
 * A tool's result in full: for tools that mix content with structured content, fail with content, or set {@code _meta}. MCP:
 * CallToolResult.
 *
 * @param content may be empty; with structured content the edge then adds its serialization as text
 * @param structured any value that encodes as JSON, a RawJson verbatim; null: none
 * @param isError the tool failed in a way that the model should see
 * @param meta {@code _meta}, a value that encodes as a JSON object; null: none
 */
public record Result(List<ContentBlock> content, Object structured, boolean isError, Object meta) {
  public Result {
    content = List.copyOf(content);
  }

  public static Result of(ContentBlock... content) {
    return new Result(List.of(content), null, false, null);
  }

  public static Result structured(Object value) {
    return new Result(List.of(), value, false, null);
  }

  /** A failure that the model sees and can act on. */
  public static Result error(String text) {
    return new Result(List.of(Content.text(text)), null, true, null);
  }

  public Result withMeta(Object object) {
    return new Result(content, structured, isError, object);
  }

  CallToolResult wire() {
    var out = CallToolResult.newBuilder().addAllContent(content).setIsError(isError);
    if (structured != null) {
      out.setStructuredContentJson(Json.encode(structured));
    }
    if (meta != null) {
      String text = Json.encode(meta);
      if (!text.startsWith("{")) {
        throw new IllegalArgumentException("_meta of the result must be a JSON object, not " + Json.quote(text));
      }
      out.setMetaJson(text);
    }
    return out.build();
  }
}
