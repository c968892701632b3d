package io.mcpedge.capability;

import java.util.List;
import java.util.Map;

/**
 * A complete answer to a read. MCP: ReadResourceResult.
 *
 * @param meta {@code _meta}; null means that of {@link Call#setMeta}
 */
public record ReadResult(List<ResourceContents> contents, Map<String, Object> meta) {
  public ReadResult {
    contents = List.copyOf(contents);
  }

  public ReadResult(List<ResourceContents> contents) {
    this(contents, null);
  }
}
