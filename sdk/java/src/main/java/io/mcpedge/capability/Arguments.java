package io.mcpedge.capability;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.exc.ValueInstantiationException;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Reads JSON objects by a type and its schema. The edge has validated arguments by the schema; types, required members, unknown
 * members and bytes are checked again, since the handler relies on them.
 *
 * @param noun the name for a member in messages
 * @param member the member whose value is read; null means the whole object
 */
record Arguments<A>(Class<A> type, JsonNode schema, String noun, String member) {
  /** The maximum number of unknown members that an error names. */
  private static final int MOST_NAMES = 5;

  Arguments(Class<A> type, ObjectNode schema) {
    this(type, schema, "argument", null);
  }

  /** Reads the content of forms: the object as an A, or the value of one member if member is not null. */
  static <A> Arguments<A> ofForm(Class<A> type, ObjectNode schema, String member) {
    return new Arguments<>(type, schema, "member", member);
  }

  /** Returns why the text is invalid; null if it is valid. */
  String misfit(String text) {
    try {
      read(text);
      return null;
    } catch (Failure e) {
      return e.getMessage();
    }
  }

  /** Throws Failure INVALID_ARGUMENT if the text is invalid. Empty text is an empty object. */
  A read(String text) {
    JsonNode node;
    try {
      node = Json.tree(text.isEmpty() ? "{}" : text);
    } catch (IllegalArgumentException e) {
      throw invalid("the " + noun + "s do not fit: " + e.getMessage());
    }
    if (!node.isObject()) {
      throw invalid("the " + noun + "s must be a JSON object, not " + node.getNodeType().name().toLowerCase(java.util.Locale.ROOT));
    }
    if (type == RawJson.class) {
      return type.cast(new RawJson(text.isEmpty() ? "{}" : text));
    }
    refuseUnknown((ObjectNode) node);
    complete((ObjectNode) node, schema, "");
    try {
      return Json.MAPPER.treeToValue(member == null ? node : node.path(member), type);
    } catch (ValueInstantiationException e) {
      if (e.getCause() instanceof Failure failure) {
        throw failure;
      }
      throw invalid("the " + noun + "s do not fit: " + (e.getCause() == null ? e.getOriginalMessage() : e.getCause().getMessage()));
    } catch (JsonMappingException e) {
      List<String> path = Stream.concat(Stream.ofNullable(member),
          e.getPath().stream().map(r -> r.getFieldName() == null ? "" + r.getIndex() : r.getFieldName())).toList();
      JsonNode value = node.at("/" + path.stream().map(step -> step.replace("~", "~0").replace("/", "~1")).collect(Collectors.joining("/")));
      JsonNode rule = rule(path);
      boolean free = value.isTextual() && rule.path("type").asText().equals("string") && !rule.has("enum") && !rule.has("format") && !Bytes.are(rule);
      String wanted = free && e instanceof MismatchedInputException mismatch && mismatch.getTargetType() != null
          ? "a " + mismatch.getTargetType().getSimpleName() + ", not " + Json.quote(value.asText()) : Rules.wanted(rule, value);
      throw invalid("the " + noun + " \"" + String.join(".", path) + "\" must be " + wanted);
    } catch (JsonProcessingException e) {
      throw invalid("the " + noun + "s do not fit");
    }
  }

  private JsonNode rule(List<String> path) {
    JsonNode rule = schema;
    for (String step : path) {
      JsonNode named = rule.path("properties").path(step);
      rule = resolved(rule.has("items") ? rule.get("items") : named.isMissingNode() ? rule.path("additionalProperties") : named);
    }
    return rule;
  }

  /** Throws INVALID_ARGUMENT for members that the schema does not permit. */
  private void refuseUnknown(ObjectNode node) {
    JsonNode properties = schema.path("properties");
    if (!schema.path("additionalProperties").isBoolean() || schema.path("additionalProperties").asBoolean()) {
      return;
    }
    List<String> strays = node.properties().stream().map(Map.Entry::getKey).filter(name -> !properties.has(name)).limit(MOST_NAMES).map(Json::quote).toList();
    if (!strays.isEmpty()) {
      String known = String.join(", ", properties.properties().stream().map(Map.Entry::getKey).map(Json::quote).toList());
      throw invalid("unknown " + noun + (strays.size() > 1 ? "s " : " ") + String.join(", ", strays) + ": "
          + (known.isEmpty() ? "there are none" : "known are " + known));
    }
  }

  /** Sets defaults, converts 3.0 to an integer, and throws INVALID_ARGUMENT for missing members, at any depth. */
  private void complete(ObjectNode node, JsonNode by, String path) {
    JsonNode properties = resolved(by).path("properties");
    for (var property : properties.properties()) {
      JsonNode value = node.get(property.getKey());
      JsonNode preset = property.getValue().has("default") ? property.getValue().get("default") : resolved(property.getValue()).get("default");
      if (value == null && preset != null) {
        node.set(property.getKey(), preset.deepCopy());
      } else if (value != null) {
        node.set(property.getKey(), completed(value, resolved(property.getValue()), path + property.getKey()));
      }
    }
    JsonNode others = resolved(by).path("additionalProperties"); // of a Map
    if (others.isObject()) {
      List<String> names = node.properties().stream().map(Map.Entry::getKey).filter(name -> !properties.has(name)).toList();
      names.forEach(name -> node.set(name, completed(node.get(name), resolved(others), path + name)));
    }
    for (JsonNode name : resolved(by).path("required")) {
      JsonNode value = node.get(name.asText());
      if (value == null || (value.isNull() && properties.path(name.asText()).has("type"))) {
        throw invalid("the " + noun + " \"" + path + name.asText() + "\" is " + (value == null ? "missing" : "null") + "; it is required");
      }
    }
  }

  private JsonNode completed(JsonNode value, JsonNode by, String path) {
    if (value instanceof ObjectNode object) {
      complete(object, alternative(by, object), path + ".");
    } else if (value instanceof ArrayNode array && by.has("items")) {
      for (int i = 0; i < array.size(); i++) {
        array.set(i, completed(array.get(i), resolved(by.get("items")), path + "." + i));
      }
    } else if (Bytes.are(by) && value.isTextual() && !Bytes.fit(by, value.asText())) {
      throw invalid("the " + noun + " \"" + path + "\" must be " + Bytes.wanted(by));
    } else if (by.path("type").asText().equals("integer") && value.isBigDecimal() && value.decimalValue().stripTrailingZeros().scale() <= 0
        && value.decimalValue().precision() - value.decimalValue().scale() <= 20) {
      return Json.MAPPER.getNodeFactory().numberNode(value.decimalValue().toBigInteger());
    }
    return value;
  }

  /** The alternative of a sealed interface whose constants, such as its kind, the object has; without alternatives the schema itself. */
  private JsonNode alternative(JsonNode by, ObjectNode object) {
    for (JsonNode each : by.path("anyOf")) {
      JsonNode properties = resolved(each).path("properties");
      boolean has = properties.properties().stream().anyMatch(p -> p.getValue().has("const"));
      if (has && properties.properties().stream().allMatch(p -> !p.getValue().has("const") || p.getValue().get("const").equals(object.get(p.getKey())))) {
        return resolved(each);
      }
    }
    return by;
  }

  private JsonNode resolved(JsonNode by) {
    String reference = by.path("$ref").asText();
    return reference.startsWith("#") ? schema.at(reference.substring(1)) : by;
  }

  private static Failure invalid(String message) {
    return new Failure(Reason.INVALID_ARGUMENT, message);
  }
}
