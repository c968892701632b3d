package io.mcpedge.capability;

/** A complete block as a JSON object with {@code type}, sent unchanged: for content that MCP defines later. */
public record RawContent(RawJson block) implements Content, SamplingContent {
  public RawContent {
    block = Texts.given("the block of raw content", block);
  }
}
