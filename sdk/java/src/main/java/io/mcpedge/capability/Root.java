package io.mcpedge.capability;

import java.util.Map;

/**
 * A directory or file that the client works on. MCP: Root.
 *
 * @param uri a file: URI
 * @param name may be empty
 * @param meta {@code _meta}; may be null
 */
public record Root(String uri, String name, Map<String, Object> meta) {
  public Root {
    uri = Texts.given("the URI of a root", uri);
    name = Texts.orEmpty(name);
  }

  public Root(String uri) {
    this(uri, "", null);
  }
}
