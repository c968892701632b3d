package io.mcpedge.capability;

/** One piece of a message to or from the client's model. MCP: SamplingMessageContentBlock. */
public sealed interface SamplingContent permits TextContent, ImageContent, AudioContent, ToolUse, ToolResult, RawContent {}
