package io.mcpedge.capability;

import java.util.List;

/** A program by its name and version. MCP: Implementation. */
public record Implementation(String name, String version, String title, String description, String websiteUrl, List<Icon> icons) {
  public Implementation {
    name = Texts.orEmpty(name);
    version = Texts.orEmpty(version);
    title = Texts.orEmpty(title);
    description = Texts.orEmpty(description);
    websiteUrl = Texts.orEmpty(websiteUrl);
    icons = icons == null ? List.of() : List.copyOf(icons);
  }

  /** A program by its name and version alone. */
  public Implementation(String name, String version) {
    this(name, version, "", "", "", List.of());
  }
}
