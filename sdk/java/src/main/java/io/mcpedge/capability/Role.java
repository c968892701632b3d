package io.mcpedge.capability;

/** The author of a message, or the reader of annotated content. MCP: Role. */
public enum Role {
  USER,
  ASSISTANT
}
