package io.mcpedge.capability;

import java.util.List;

/**
 * An image that clients may show. MCP: Icon.
 *
 * @param src its https: or data: URL
 * @param mimeType empty means unknown
 * @param sizes such as 48x48
 * @param theme light, dark, or empty for both
 */
public record Icon(String src, String mimeType, List<String> sizes, String theme) {
  public Icon {
    src = Texts.given("the src of an icon", src);
    mimeType = Texts.orEmpty(mimeType);
    sizes = sizes == null ? List.of() : List.copyOf(sizes);
    theme = Texts.orEmpty(theme);
  }

  /** An icon of a URL and a MIME type. */
  public Icon(String src, String mimeType) {
    this(src, mimeType, List.of(), "");
  }
}
