package io.mcpedge.capability;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.time.LocalDate;
import java.time.format.DateTimeFormatter;
import java.util.*;
import java.util.function.Consumer;
import java.util.regex.*;

/** Validates answers by the keywords of a flat form, and describes its requirements in words. */
record Rules(ObjectNode schema) {
  /** The checked formats; each function throws for an invalid string. */
  private static final Map<String, Consumer<String>> CHECKED =
      Map.of("date", LocalDate::parse, "date-time", DateTimeFormatter.ISO_DATE_TIME::parse, "uri", URI::create);
  private static final Map<String, String> FORMATS = Map.of(
      "date", "a date such as 2026-11-24",
      "date-time", "a date and time such as 2026-11-24T17:20:00Z",
      "time", "a time such as 17:20:00Z",
      "duration", "a duration such as PT1H30M",
      "uri", "a URI such as https://example.com/a",
      "uuid", "a UUID");
  private static final Map<String, String> BOUNDS = new LinkedHashMap<>();

  static {
    BOUNDS.put("minimum", "at least %s");
    BOUNDS.put("maximum", "at most %s");
    BOUNDS.put("minLength", "with %s characters or more");
    BOUNDS.put("maxLength", "with at most %s characters");
    BOUNDS.put("minItems", "with %s items or more");
    BOUNDS.put("maxItems", "with at most %s items");
    BOUNDS.put("pattern", "that matches %s");
  }

/** Returns why content is invalid; null if it is an object with the required members, with values of the types, choices, formats and bounds. */
  String misfit(String content) {
    JsonNode value;
    try {
      value = Json.tree(content);
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
    if (!value.isObject()) {
      return "it must be a JSON object of the members " + String.join(", ", schema.path("properties").properties().stream().map(Map.Entry::getKey).toList());
    }
    for (JsonNode name : schema.path("required")) {
      if (!value.has(name.asText())) {
        return "the member " + Json.quote(name.asText()) + " is missing; it is required";
      }
    }
    for (var member : value.properties()) {
      JsonNode rule = schema.path("properties").path(member.getKey());
      if (!admits(rule, member.getValue())) {
        return "the member " + Json.quote(member.getKey()) + " must be " + wanted(rule, member.getValue());
      }
    }
    return null;
  }

  /** Describes in words what the rule requires of a value. */
  static String wanted(JsonNode rule, JsonNode value) {
    if (rule.has("enum")) {
      return "one of " + rule.get("enum");
    }
    JsonNode choices = rule.has("oneOf") ? rule.get("oneOf") : rule.path("anyOf");
    if (choices.path(0).has("const")) {
      return "one of " + choices.findValues("const");
    }
    if (Bytes.are(rule)) {
      return Bytes.wanted(rule);
    }
    String type = rule.path("type").asText("of another type");
    if (FORMATS.containsKey(rule.path("format").asText())) {
      return FORMATS.get(rule.path("format").asText());
    }
    StringBuilder out = new StringBuilder("integer array object".contains(type) ? "an " : rule.has("type") ? "a " : "").append(type);
    if (type.equals("integer") && value.isIntegralNumber() && !rule.has("maximum")) {
      out.append(" of 64 bits");
    }
    BOUNDS.forEach((keyword, text) -> out.append(rule.has(keyword) ? ", " + text.formatted(rule.get(keyword).asText()) : ""));
    return out + (rule.at("/items/enum").isArray() ? " of " + rule.at("/items/enum") : "");
  }

  private static boolean admits(JsonNode rule, JsonNode value) {
    if (!among(rule.path("enum"), "", value) || !among(rule.path("oneOf"), "/const", value) || !among(rule.path("anyOf"), "/const", value)
        || (rule.has("const") && !rule.get("const").equals(value))) {
      return false;
    }
    String type = rule.path("type").asText();
    return switch (value.getNodeType()) {
      case STRING -> fits(type, "string") && within(rule, "Length", value.asText().codePointCount(0, value.asText().length())) && matches(rule, value);
      case BOOLEAN -> fits(type, "boolean");
      case NUMBER -> (fits(type, "number") || (type.equals("integer") && value.decimalValue().stripTrailingZeros().scale() <= 0)) && bounded(rule, value);
      case ARRAY -> fits(type, "array") && within(rule, "Items", value.size())
          && value.valueStream().allMatch(item -> admits(rule.path("items"), item));
      default -> type.isEmpty();
    };
  }

  private static boolean among(JsonNode choices, String at, JsonNode value) {
    return choices.isEmpty() || choices.valueStream().anyMatch(choice -> choice.at(at).equals(value));
  }

  private static boolean fits(String want, String is) {
    return want.isEmpty() || want.equals(is);
  }

  private static boolean within(JsonNode rule, String what, int n) {
    return n >= rule.path("min" + what).asInt(0) && n <= rule.path("max" + what).asInt(Integer.MAX_VALUE);
  }

  private static boolean bounded(JsonNode rule, JsonNode value) {
    JsonNode least = rule.path("minimum");
    JsonNode most = rule.path("maximum");
    return (!least.isNumber() || value.decimalValue().compareTo(least.decimalValue()) >= 0)
        && (!most.isNumber() || value.decimalValue().compareTo(most.decimalValue()) <= 0);
  }

  /** Returns whether a value matches the pattern. A pattern that Java cannot compile, or match within its stack, is ignored. */
  private static boolean matches(JsonNode rule, JsonNode value) {
    try {
      CHECKED.getOrDefault(rule.path("format").asText(), text -> {}).accept(value.asText());
      return !rule.has("pattern") || Pattern.compile(rule.get("pattern").asText()).matcher(value.asText()).find();
    } catch (PatternSyntaxException | StackOverflowError e) {
      return true;
    } catch (java.time.DateTimeException | IllegalArgumentException e) {
      return false;
    }
  }
}
