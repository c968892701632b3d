package io.mcpedge.capability;

/** One turn of a prompt. MCP: PromptMessage. */
public record PromptMessage(Role role, Content content) {
  public PromptMessage {
    role = Texts.given("the role of a message", role);
    content = Texts.given("the content of a message", content);
  }
}
