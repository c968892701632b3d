package io.mcpedge.capability;

/** Reads a resource. */
@FunctionalInterface
public interface ResourceHandler {
  /**
   * Returns a String, which is text; a byte[], which is text when it is valid UTF-8 and the MIME type does not deny it, else binary; a
   * ResourceContents or a List of them, whose URI and MIME type are filled in where they are empty; or a {@link ReadResult}. Null, and a
   * java.nio.file.NoSuchFileException, are NOT_FOUND; a Failure keeps its reason, other exceptions are INTERNAL.
   */
  Object read(Call call, String uri) throws Exception;
}
