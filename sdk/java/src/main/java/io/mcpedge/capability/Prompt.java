package io.mcpedge.capability;

import java.util.List;
import java.util.Map;

/**
 * A prompt by its description. MCP: Prompt.
 *
 * @param title the name for people; may be empty
 * @param meta {@code _meta}; may be null
 */
public record Prompt(
    String name, String title, String description, List<PromptArgument> arguments, List<Icon> icons, Map<String, Object> meta) {
  public Prompt {
    name = Texts.orEmpty(name);
    title = Texts.orEmpty(title);
    description = Texts.orEmpty(description);
    arguments = arguments == null ? List.of() : List.copyOf(arguments);
    icons = icons == null ? List.of() : List.copyOf(icons);
  }

  public static Builder builder() {
    return new Builder();
  }

  /** Sets the members of a Prompt. */
  public static final class Builder {
    private String name;
    private String title;
    private String description;
    private List<PromptArgument> arguments;
    private List<Icon> icons;
    private Map<String, Object> meta;

    private Builder() {}

    public Builder name(String name) {
      this.name = name;
      return this;
    }

    public Builder title(String title) {
      this.title = title;
      return this;
    }

    public Builder description(String description) {
      this.description = description;
      return this;
    }

    public Builder arguments(List<PromptArgument> arguments) {
      this.arguments = arguments;
      return this;
    }

    public Builder arguments(PromptArgument... arguments) {
      return arguments(List.of(arguments));
    }

    public Builder icons(List<Icon> icons) {
      this.icons = icons;
      return this;
    }

    public Builder icons(Icon... icons) {
      return icons(List.of(icons));
    }

    public Builder meta(Map<String, Object> meta) {
      this.meta = meta;
      return this;
    }

    public Prompt build() {
      return new Prompt(name, title, description, arguments, icons, meta);
    }
  }
}
