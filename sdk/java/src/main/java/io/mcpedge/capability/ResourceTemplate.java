package io.mcpedge.capability;

import java.util.List;
import java.util.Map;

/**
 * Resources by a URI template of RFC 6570, without the modifiers {@code *} and {@code :}. MCP: ResourceTemplate.
 *
 * @param name required
 * @param title the name for people; may be empty
 * @param mimeType empty means unknown
 * @param annotations may be null
 * @param meta {@code _meta}; may be null
 */
public record ResourceTemplate(
    String uriTemplate, String name, String title, String description, String mimeType, Annotations annotations, List<Icon> icons,
    Map<String, Object> meta) {
  public ResourceTemplate {
    uriTemplate = Texts.orEmpty(uriTemplate);
    name = Texts.orEmpty(name);
    title = Texts.orEmpty(title);
    description = Texts.orEmpty(description);
    mimeType = Texts.orEmpty(mimeType);
    icons = icons == null ? List.of() : List.copyOf(icons);
  }

  public static Builder builder() {
    return new Builder();
  }

  /** Sets the members of a ResourceTemplate. */
  public static final class Builder {
    private String uriTemplate;
    private String name;
    private String title;
    private String description;
    private String mimeType;
    private Annotations annotations;
    private List<Icon> icons;
    private Map<String, Object> meta;

    private Builder() {}

    public Builder uriTemplate(String uriTemplate) {
      this.uriTemplate = uriTemplate;
      return this;
    }

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

    public Builder mimeType(String mimeType) {
      this.mimeType = mimeType;
      return this;
    }

    public Builder annotations(Annotations annotations) {
      this.annotations = annotations;
      return this;
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

    public ResourceTemplate build() {
      return new ResourceTemplate(uriTemplate, name, title, description, mimeType, annotations, icons, meta);
    }
  }
}
