package io.mcpedge.capability;

/** Who speaks in a message, or for whom something is meant. MCP: Role. */
public enum Role {
  USER,
  ASSISTANT
}
