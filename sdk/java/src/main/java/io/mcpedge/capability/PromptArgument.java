package io.mcpedge.capability;

/**
 * An argument of a prompt. MCP: PromptArgument.
 *
 * @param title the name for people; may be empty
 */
public record PromptArgument(String name, String title, String description, boolean required) {
  public PromptArgument {
    name = Texts.given("the name of an argument", name);
    title = Texts.orEmpty(title);
    description = Texts.orEmpty(description);
  }

  public PromptArgument(String name, String description, boolean required) {
    this(name, "", description, required);
  }
}
