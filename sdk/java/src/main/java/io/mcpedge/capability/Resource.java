package io.mcpedge.capability;

import java.util.List;
import java.util.Map;

/**
 * A resource in a list. MCP: Resource.
 *
 * @param uri absolute
 * @param name required
 * @param title the name for people; may be empty
 * @param mimeType empty means unknown
 * @param size in bytes; null means unknown
 * @param annotations may be null
 * @param meta {@code _meta}; may be null
 */
public record Resource(
    String uri, String name, String title, String description, String mimeType, Long size, Annotations annotations, List<Icon> icons,
    Map<String, Object> meta) {
  public Resource {
    uri = Texts.orEmpty(uri);
    name = Texts.orEmpty(name);
    title = Texts.orEmpty(title);
    description = Texts.orEmpty(description);
    mimeType = Texts.orEmpty(mimeType);
    icons = icons == null ? List.of() : List.copyOf(icons);
  }

  /** A resource with a URI and a name only. */
  public Resource(String uri, String name) {
    this(uri, name, "", "", "", null, null, List.of(), null);
  }

  public static Builder builder() {
    return new Builder();
  }

  /** Sets the members of a Resource. */
  public static final class Builder {
    private String uri;
    private String name;
    private String title;
    private String description;
    private String mimeType;
    private Long size;
    private Annotations annotations;
    private List<Icon> icons;
    private Map<String, Object> meta;

    private Builder() {}

    public Builder uri(String uri) {
      this.uri = uri;
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

    public Builder size(Long size) {
      this.size = size;
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

    public Resource build() {
      return new Resource(uri, name, title, description, mimeType, size, annotations, icons, meta);
    }
  }
}
