package io.mcpedge.capability;

import java.util.Map;

/**
 * Contents of a resource within a result or a message; their URI is required. MCP: EmbeddedResource.
 *
 * @param annotations may be null
 * @param meta {@code _meta}; may be null
 */
public record EmbeddedResource(ResourceContents resource, Annotations annotations, Map<String, Object> meta) implements Content {
  public EmbeddedResource {
    resource = Texts.given("the contents of an embedded resource", resource);
  }

  public EmbeddedResource(ResourceContents resource) {
    this(resource, null, null);
  }
}
