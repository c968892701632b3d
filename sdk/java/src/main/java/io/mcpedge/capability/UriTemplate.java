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

  private record Operator(String first, String separator, boolean named) {}

  private static final Map<String, Operator> OPERATORS = Map.of(
      "", new Operator("", ",", false), "+", new Operator("", ",", false), "#", new Operator("#", ",", false),
      ".", new Operator(".", ".", false), "/", new Operator("/", "/", false), ";", new Operator(";", ";", true),
      "?", new Operator("?", "&", true), "&", new Operator("&", "&", true));

  private final List<String> variables = new ArrayList<>();
  private final Pattern pattern;

  /** DefinitionException when the template does not parse. */
  UriTemplate(String template) {
    StringBuilder out = new StringBuilder();
    Matcher m = EXPRESSION.matcher(template);
    int from = 0;
    while (m.find()) {
      out.append(literal(template, from, m.start())).append(expression(m.group(1), m.group(2).split(",")));
      from = m.end();
    }
    pattern = Pattern.compile(out.append(literal(template, from, template.length())).toString());
    if (template.isEmpty()) {
      throw new DefinitionException("a URI template is empty");
    }
  }

  List<String> variables() {
    return List.copyOf(variables);
  }

  /** The variables of a URI, decoded; null: it does not match. One that is absent in the URI is absent here. */
  Map<String, String> match(String uri) {
    Matcher m = pattern.matcher(uri);
    if (!m.matches()) {
      return null;
    }
    Map<String, String> found = new HashMap<>();
    for (int i = 0; i < variables.size(); i++) {
      if (m.group(i + 1) != null) {
        try {
          found.put(variables.get(i), URLDecoder.decode(m.group(i + 1).replace("+", "%2B"), StandardCharsets.UTF_8));
        } catch (IllegalArgumentException e) {
          return null; // such as %zz
        }
      }
    }
    return found;
  }

  private static String literal(String template, int from, int to) {
    String text = template.substring(from, to);
    if (text.contains("{") || text.contains("}")) {
      throw new DefinitionException("template " + Json.quote(template) + ": " + Json.quote(text)
          + " is no expression that is taken; use {name} with an operator of RFC 6570, without the modifiers * and :");
    }
    return text.isEmpty() ? "" : Pattern.quote(text);
  }

  private String expression(String operator, String[] names) {
    Operator by = OPERATORS.get(operator);
    // Commas belong to a list's value. A group that repeats would recurse for each character of a URI: match sees what is no escape, and
    // no value ends within one.
    String value = (operator.equals("+") || operator.equals("#") ? "[^?#\\s]*?" : "[A-Za-z0-9_.~,%-]*?") + "(?<!%.?)";
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < names.length; i++) {
      variables.add(names[i]);
      String mark = i == 0 ? by.first : by.separator;
      String before = operator.equals("?") ? "[?&]" : mark.isEmpty() ? "" : Pattern.quote(mark); // those before may be missing
      String name = by.named ? Pattern.quote(names[i]) + "=?" : "";
      boolean optional = by.named || !by.first.isEmpty() || i > 0;
      out.append("(?:").append(before).append(name).append('(').append(value).append("))");
      out.append(optional ? "?" : "");
    }
    return out.toString();
  }
}
