package io.mcpedge.capability;

import java.util.List;

/** Serves dynamic resources: a directory, a table. Its methods may be called concurrently. */
public interface ResourceProvider {
  /** All resources, in a stable order. The URIs begin with the provider's prefix. */
  List<Resource> list() throws Exception;

  /**
   * The contents of a URI that begins with the prefix, listed or not, as {@link ResourceHandler} returns them; null if it does
   * not exist.
   */
  Object read(Call call, String uri) throws Exception;
}
