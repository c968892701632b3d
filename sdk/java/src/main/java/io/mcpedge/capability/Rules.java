package io.mcpedge.capability;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** The keywords of a flat form that an answer is held to. */
final class Rules {
  private final ObjectNode schema;

  Rules(ObjectNode schema) {
    this.schema = schema;
  }

  /** Whether content is an object with the required members, whose values keep types, choices and bounds. */
  boolean admit(String content) {
    JsonNode value;
    try {
      value = Json.tree(content);
    } catch (IllegalArgumentException e) {
      return false;
    }
    for (JsonNode name : schema.path("required")) {
      if (!value.has(name.asText())) {
        return false;
      }
    }
    return value.isObject() && value.properties().stream().allMatch(m -> admits(schema.path("properties").path(m.getKey()), m.getValue()));
  }

  private static boolean admits(JsonNode rule, JsonNode value) {
    if (!among(rule.path("enum"), "", value) || !among(rule.path("oneOf"), "/const", value) || !among(rule.path("anyOf"), "/const", value)) {
      return false;
    }
    if (rule.has("const") && !rule.get("const").equals(value)) {
      return false;
    }
    String type = rule.path("type").asText();
    return switch (value.getNodeType()) {
      case STRING -> fits(type, "string") && within(rule, "Length", value.asText().codePointCount(0, value.asText().length())) && matches(rule, value);
      case BOOLEAN -> fits(type, "boolean");
      case NUMBER -> (fits(type, "number") || (type.equals("integer") && value.decimalValue().stripTrailingZeros().scale() <= 0)) && bounded(rule, value);
      case ARRAY -> {
        for (JsonNode item : value) {
          if (!admits(rule.path("items"), item)) {
            yield false;
          }
        }
        yield fits(type, "array") && within(rule, "Items", value.size());
      }
      default -> type.isEmpty();
    };
  }

  private static boolean among(JsonNode choices, String at, JsonNode value) {
    for (JsonNode choice : choices) {
      if (choice.at(at).equals(value)) {
        return true;
      }
    }
    return choices.isEmpty();
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

  /** A pattern that Java cannot match bounds nothing. */
  private static boolean matches(JsonNode rule, JsonNode value) {
    try {
      return !rule.has("pattern") || Pattern.compile(rule.get("pattern").asText()).matcher(value.asText()).find();
    } catch (PatternSyntaxException e) {
      return true;
    }
  }
}
