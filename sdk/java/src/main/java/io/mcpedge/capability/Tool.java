package io.mcpedge.capability;

import java.util.List;
import java.util.Map;

/**
 * A tool with explicit schemas. MCP: Tool.
 *
 * @param name 1 to 64 of A-Z a-z 0-9 _ . -
 * @param title the name for people; may be empty
 * @param inputSchema JSON Schema 2020-12 with an object at its root, sent unchanged; empty means any object
 * @param outputSchema sent unchanged; may be empty
 * @param meta {@code _meta}; may be null
 */
public record Tool(
    String name, String title, String description, String inputSchema, String outputSchema, List<Icon> icons, Map<String, Object> meta) {
  public Tool {
    name = Texts.given("the name of a tool", name);
    title = Texts.orEmpty(title);
    description = Texts.orEmpty(description);
    inputSchema = Texts.orEmpty(inputSchema);
    outputSchema = Texts.orEmpty(outputSchema);
    icons = icons == null ? List.of() : List.copyOf(icons);
    String what = "schemas of tool " + name;
    Json.object(what, inputSchema.isEmpty() ? "{}" : inputSchema);
    Json.object(what, outputSchema.isEmpty() ? "{}" : outputSchema);
  }

  /** A tool without an output schema. */
  public Tool(String name, String description, String inputSchema) {
    this(name, "", description, inputSchema, "", List.of(), null);
  }

  public static Builder builder() {
    return new Builder();
  }

  /** Sets the members of a Tool. */
  public static final class Builder {
    private String name;
    private String title;
    private String description;
    private String inputSchema;
    private String outputSchema;
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

    /** The schema of the arguments as text, sent unchanged. */
    public Builder inputSchema(String json) {
      inputSchema = json;
      return this;
    }

    /** The schema of the arguments as a Map. */
    public Builder inputSchema(Map<String, ?> schema) {
      return inputSchema(Json.encode(schema));
    }

    /** The schema of the arguments, generated from a record as {@link Capability#tool} does. */
    public Builder inputSchema(Class<?> type) {
      return inputSchema(Tools.inputSchema("tool " + name, type).toString());
    }

    /** The schema of structured content as text, sent unchanged. */
    public Builder outputSchema(String json) {
      outputSchema = json;
      return this;
    }

    /** The schema of structured content as a Map. */
    public Builder outputSchema(Map<String, ?> schema) {
      return outputSchema(Json.encode(schema));
    }

    /** The schema of structured content, generated from a type. */
    public Builder outputSchema(Class<?> type) {
      return outputSchema(Schemas.of("tool " + name, type, true).toString());
    }

    public Builder icons(Icon... icons) {
      this.icons = List.of(icons);
      return this;
    }

    public Builder meta(Map<String, Object> meta) {
      this.meta = meta;
      return this;
    }

    public Tool build() {
      return new Tool(name, title, description, inputSchema, outputSchema, icons, meta);
    }
  }
}
