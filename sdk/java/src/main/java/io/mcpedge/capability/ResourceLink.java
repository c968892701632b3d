package io.mcpedge.capability;

/** A reference to a resource that the client may read. MCP: ResourceLink. */
public record ResourceLink(Resource resource) implements Content {
  public ResourceLink {
    resource = Texts.given("the resource of a link", resource);
  }
}
