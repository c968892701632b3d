package io.mcpedge.capability;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.*;

/**
 * An RFC 6570 URI template that is matched against URIs. Variables of a query match in the order of the template only; the modifiers
 * {@code *} and {@code :} are not taken.
 */
final class UriTemplate {
  private static final Pattern EXPRESSION = Pattern.compile("\\{([+#./;?&]?)([A-Za-z0-9_.%]+(?:,[A-Za-z0-9_.%]+)*)\\}");

  /** A literal, which is all before and has no name, or a variable, whose value has the allowed characters. */
  private record Part(String before, String name, String allowed, boolean optional) {
    /** Where the value begins, if the part is at a position; else -1. The first of a query that is there begins with the question mark. */
    int start(String uri, int at) {
      boolean first = optional && before.startsWith("&") && uri.startsWith("?" + before.substring(1), at);
      return first || uri.startsWith(before, at) ? at + before.length() : -1;
    }
  }

  private static final Pattern ESCAPE = Pattern.compile("%([0-9A-Fa-f]{2})");
  private static final Pattern HEAD = Pattern.compile("^(?:(?:https?|file)://[^/?#{]*|[a-z][a-z0-9+.-]*:)", Pattern.CASE_INSENSITIVE);

  private final List<Part> parts = new ArrayList<>();
  private final UriTemplate normal; // the template with its literals in normal form, or null if that is this one

  /** DefinitionException when the template does not parse. */
  UriTemplate(String template) {
    Matcher m = EXPRESSION.matcher(template);
    int from = 0;
    while (m.find()) {
      literal(template, from, m.start());
      expression(m.group(1), m.group(2).split(","));
      from = m.end();
    }
    literal(template, from, template.length());
    String other = normal(template);
    normal = other.equals(template) ? null : new UriTemplate(other);
  }

  List<String> variables() {
    return parts.stream().map(Part::name).filter(name -> !name.isEmpty()).toList();
  }

  /**
   * The variables of a URI in any spelling, decoded; null: it does not match. One that is absent in the URI is absent here. Each value is the longest, from
   * the left, with which the rest matches, as in the other libraries. Takes time in proportion to the URI's length.
   */
  Map<String, String> match(String uri) {
    for (String spelling : new LinkedHashSet<>(List.of(uri, settled(uri)))) {
      Map<String, String> found = find(spelling);
      if (found == null && normal != null) found = normal.find(spelling);
      if (found != null) return found;
    }
    return null;
  }

  /** A template with its literals in normal form. */
  private static String normal(String template) {
    StringBuilder out = new StringBuilder();
    Matcher m = EXPRESSION.matcher(template);
    int from = 0;
    while (m.find()) {
      out.append(encoded(from == 0 ? settled(template.substring(0, m.start())) : unescaped(template.substring(from, m.start())))).append(m.group());
      from = m.end();
    }
    String rest = template.substring(from);
    return out.append(encoded(from == 0 ? settled(rest) : unescaped(rest))).toString();
  }

  /** A URI with its scheme, and for http, https and file its host, in lower case, and without needless escapes (RFC 3986, section 6.2.2). */
  private static String settled(String uri) {
    return unescaped(HEAD.matcher(uri).replaceFirst(head -> Matcher.quoteReplacement(unescaped(head.group()).toLowerCase(Locale.ROOT))));
  }

  /** A text without escapes of unreserved characters, and with capitals in all others. */
  private static String unescaped(String text) {
    return ESCAPE.matcher(text).replaceAll(found -> {
      char c = (char) Integer.parseInt(found.group(1), 16);
      boolean plain = c < 128 && (Character.isLetterOrDigit(c) || "-._~".indexOf(c) >= 0);
      return Matcher.quoteReplacement(plain ? String.valueOf(c) : found.group().toUpperCase(Locale.ROOT));
    });
  }

  /** A text with escapes in place of characters that a URI must not have. */
  private static String encoded(String text) {
    StringBuilder out = new StringBuilder();
    for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
      boolean allowed = b > 0 && (Character.isLetterOrDigit(b) || ":/?#[]@!$&'()*+,;=%-._~".indexOf(b) >= 0);
      out.append(allowed ? String.valueOf((char) b) : String.format("%%%02X", b & 0xff));
    }
    return out.toString();
  }

  private Map<String, String> find(String uri) {
    int n = uri.length();
    boolean[] fits = new boolean[n + 1]; // by position: whether the parts behind match from there on
    fits[n] = !uri.matches("(?s).*%(?![0-9A-Fa-f]{2}).*"); // escapes are whole
    int[][] ends = new int[parts.size()][n + 1]; // by part and position: the longest value from there on so that what is behind fits, or -1
    for (int i = parts.size() - 1; i >= 0; i--) {
      Part part = parts.get(i);
      for (int at = n; at >= 0; at--) {
        boolean more = at < n && part.allowed.indexOf(uri.charAt(at)) >= 0 && ends[i][at + 1] >= 0;
        // No value ends within an escape.
        ends[i][at] = more ? ends[i][at + 1] : fits[at] && !uri.substring(Math.max(0, at - 2), at).contains("%") ? at : -1;
      }
      for (int at = 0; at <= n; at++) {
        int start = part.start(uri, at);
        fits[at] = start >= 0 && ends[i][start] >= 0 || part.optional && fits[at];
      }
    }
    Map<String, String> found = new HashMap<>();
    for (int i = 0, at = 0; i < parts.size() && fits[0]; i++) {
      int start = parts.get(i).start(uri, at);
      if (start >= 0 && ends[i][start] >= 0) {
        at = ends[i][start];
        found.put(parts.get(i).name, URLDecoder.decode(uri.substring(start, at).replace("+", "%2B"), StandardCharsets.UTF_8));
      }
    }
    return found.remove("") == null ? null : found; // which the literals have
  }

  private void literal(String template, int from, int to) {
    String text = template.substring(from, to);
    if (text.contains("{") || text.contains("}")) {
      throw new DefinitionException("template " + Json.quote(template) + ": " + Json.quote(text)
          + " is no expression that is taken; use {name} with an operator of RFC 6570, without the modifiers * and :");
    }
    parts.add(new Part(text, "", "", false));
  }

  private void expression(String operator, String[] names) {
    boolean named = operator.matches("[;?&]");
    String first = operator.replace("+", "");
    String between = operator.equals("?") ? "&" : first.isEmpty() || first.equals("#") ? "," : first;
    String allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%," + (operator.equals("+") || operator.equals("#") ? ":/?#[]@!$&'()*+;=" : "");
    for (int i = 0; i < names.length; i++) {
      String before = (i == 0 ? first : between) + (named ? names[i] + "=" : "");
      // Commas and dots belong to a list's value, but where they end it.
      String values = i + 1 < names.length ? allowed.replace(between, "") : allowed;
      parts.add(new Part(before, names[i], values, named || !first.isEmpty() || i > 0));
    }
  }
}
