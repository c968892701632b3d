package io.mcpedge.capability;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.*;

/**
 * An RFC 6570 URI template that is matched against URIs. Variables of a query match in the order of the template only; the modifiers
 * {@code *} and {@code :} are not supported.
 */
final class UriTemplate {
  private static final Pattern EXPRESSION = Pattern.compile("\\{([+#./;?&]?)([A-Za-z0-9_.%]+(?:,[A-Za-z0-9_.%]+)*)\\}");

  private static final Pattern ESCAPE = Pattern.compile("%([0-9A-Fa-f]{2})");
  private static final Pattern NO_ESCAPE = Pattern.compile("%(?![0-9A-Fa-f]{2})");
  private static final Pattern FOREIGN = Pattern.compile("[^A-Za-z0-9:/?#\\[\\]@!$&'()*+,;=%._~-]+"); // what a URI must have escaped
  private static final Pattern SCHEME = Pattern.compile("^[A-Za-z][A-Za-z0-9+.-]*:");
  private static final Pattern HOST = Pattern.compile("^((?:https?|file)://(?:[^/?#]*@)?)([^/?#]*)");
  private static final Pattern CAPITALS = Pattern.compile("[A-Z]+");

  /**
   * A variable with the literal before it, or a literal alone, without a name. before has the spellings of the literal, of which a URI has one;
   * allowed has the characters of a value.
   */
  private record Part(List<String> before, String name, String allowed, boolean optional) {
    /** The start of the value if the part is at a position; else -1. */
    int start(String uri, int at) {
      for (String spelling : before) {
        if (uri.startsWith(spelling, at)) {
          return at + spelling.length();
        }
      }
      return -1;
    }
  }

  private final List<Part> parts = new ArrayList<>();

  /** Throws DefinitionException if the template cannot be parsed. */
  UriTemplate(String template) {
    String[] literals = EXPRESSION.split(template, -1);
    for (String text : literals) {
      if (text.contains("{") || text.contains("}")) {
        throw new DefinitionException("template " + Json.quote(template) + ": " + Json.quote(text)
            + " is no supported expression; use {name} with an operator of RFC 6570, without the modifiers * and :");
      }
    }
    // A brace stands for each expression between the literals, so that the scheme and the host of the whole template can be normalized.
    Iterator<MatchResult> expressions = EXPRESSION.matcher(template).results().iterator();
    for (String text : settled(String.join("{", literals)).split("\\{", -1)) {
      String escaped = FOREIGN.matcher(text).replaceAll(found -> URLEncoder.encode(found.group(), StandardCharsets.UTF_8).replace("+", "%20"));
      parts.add(new Part(List.of(text, escaped), "", "", false));
      if (expressions.hasNext()) {
        expression(expressions.next());
      }
    }
  }

  /** Whether a URI or a template has a scheme. */
  static boolean absolute(String uri) {
    return SCHEME.matcher(uri).find();
  }

  List<String> variables() {
    return parts.stream().map(Part::name).filter(name -> !name.isEmpty()).toList();
  }

  /**
   * The variables of a URI in any spelling, decoded; null if it does not match. Variables that the URI omits are absent. Each value is the longest, from
   * the left, with which the rest matches, as in the other libraries. If the URI matches without normalization, the values are those of that match. Takes time in proportion
   * to the URI's length.
   */
  Map<String, String> match(String uri) {
    if (NO_ESCAPE.matcher(uri).find()) {
      return null;
    }
    Map<String, String> found = find(uri);
    return found == null ? find(settled(uri)) : found;
  }

  /**
   * A URI with its scheme, and for http, https and file its host, in lower case, without escapes of unreserved characters, and with capitals in all others
   * (RFC 3986, section 6.2.2).
   */
  private static String settled(String uri) {
    String plain = SCHEME.matcher(uri).replaceFirst(scheme -> lower(scheme.group()));
    return unescaped(HOST.matcher(plain).replaceFirst(found -> Matcher.quoteReplacement(found.group(1) + lower(unescaped(found.group(2))))));
  }

  private static String lower(String text) {
    return CAPITALS.matcher(text).replaceAll(letters -> letters.group().toLowerCase(Locale.ROOT));
  }

  private static String unescaped(String text) {
    return ESCAPE.matcher(text).replaceAll(found -> {
      char c = (char) Integer.parseInt(found.group(1), 16);
      boolean plain = c < 128 && (Character.isLetterOrDigit(c) || "-._~".indexOf(c) >= 0);
      return plain ? String.valueOf(c) : found.group().toUpperCase(Locale.ROOT);
    });
  }

  private Map<String, String> find(String uri) {
    if (parts.get(0).start(uri, 0) < 0) {
      return null; // most URIs differ here
    }
    int n = uri.length();
    boolean[] fits = new boolean[n + 1]; // by position: whether the other parts match from there
    fits[n] = true;
    int[][] ends = new int[parts.size()][n + 1]; // by part and position: the end of the longest value from there, with which the other parts match, or -1
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
    return found.remove("") == null ? null : found; // the entry of the literals
  }

  private void expression(MatchResult found) {
    String operator = found.group(1);
    String[] names = found.group(2).split(",");
    boolean named = operator.matches("[;?&]");
    String first = operator.replace("+", "");
    String between = operator.equals("?") ? "&" : first.isEmpty() || first.equals("#") ? "," : first;
    String allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%," + (operator.equals("+") || operator.equals("#") ? ":/?#[]@!$&'()*+;=" : "");
    for (int i = 0; i < names.length; i++) {
      String before = (i == 0 ? first : between) + (named ? names[i] + "=" : "");
      // Commas and dots are part of a value, unless they end it.
      String values = i + 1 < names.length ? allowed.replace(between, "") : allowed;
      // The first variable of a query that is present begins with the question mark.
      parts.add(new Part(List.of(before, before.replace('&', '?')), names[i], values, named || !first.isEmpty() || i > 0));
    }
  }
}
