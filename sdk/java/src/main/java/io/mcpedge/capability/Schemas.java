package io.mcpedge.capability;

import com.fasterxml.classmate.ResolvedType;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.victools.jsonschema.generator.*;
import com.github.victools.jsonschema.module.jackson.JacksonModule;
import com.github.victools.jsonschema.module.jackson.JacksonOption;
import java.util.*;

/** Makes JSON Schemas of records, enums, lists and whatever else Jackson reads and writes. */
final class Schemas {
  private static final Map<Class<?>, Class<?>> OPTIONALS = Map.of(
      Optional.class, Object.class, OptionalInt.class, Integer.class, OptionalLong.class, Long.class, OptionalDouble.class, Double.class);
  private static final SchemaGenerator INPUT;
  private static final SchemaGenerator OUTPUT;

  static {
    // The generator logs by SLF4J, which says on standard error when a program has nothing behind it.
    if (System.getProperty("slf4j.internal.verbosity") == null) {
      System.setProperty("slf4j.internal.verbosity", "ERROR");
    }
    INPUT = generator(false);
    OUTPUT = generator(true);
  }

  private Schemas() {}

  /**
   * The schema of what a type reads, or of what it writes: of this, all members are required. Throws DefinitionException, which
   * begins with what it is of.
   */
  static ObjectNode of(String what, Class<?> type, boolean output) {
    try {
      ObjectNode schema = (output ? OUTPUT : INPUT).generateSchema(type);
      schema.remove("$schema");
      return schema;
    } catch (DefinitionException e) {
      throw new DefinitionException(what + ": " + e.getMessage(), e);
    } catch (RuntimeException | StackOverflowError e) {
      throw new DefinitionException(what + ": " + type.getName() + " makes no schema: " + e, e);
    }
  }

  /** As of, of what is an object; its type is checked to be one that Jackson reads. */
  static ObjectNode ofArguments(String what, Class<?> type) {
    ObjectNode schema = of(what, type, false);
    if (schema.isEmpty()) {
      schema.put("type", "object"); // Object, RawJson
    }
    if (!schema.path("type").asText().equals("object")) {
      throw new DefinitionException(what + ": arguments are a JSON object; take a record or a Map, not " + type.getName());
    }
    try {
      Json.MAPPER.readerFor(type).readValue("{}");
    } catch (com.fasterxml.jackson.databind.exc.InvalidDefinitionException e) {
      throw new DefinitionException(what + ": " + type.getName() + " cannot be read; take a record: " + e.getOriginalMessage(), e);
    } catch (JsonProcessingException e) {
      return schema; // what it lacks comes with a call
    }
    return schema;
  }

  private static SchemaGenerator generator(boolean output) {
    var config = new SchemaGeneratorConfigBuilder(SchemaVersion.DRAFT_2020_12, OptionPreset.PLAIN_JSON)
        .with(new JacksonModule(JacksonOption.FLATTENED_ENUMS_FROM_JSONPROPERTY, JacksonOption.FLATTENED_ENUMS_FROM_JSONVALUE))
        .with(Option.MAP_VALUES_AS_ADDITIONAL_PROPERTIES, Option.INLINE_NULLABLE_SCHEMAS)
        .without(Option.SCHEMA_VERSION_INDICATOR, Option.FLATTENED_OPTIONALS);
    config.forTypesInGeneral()
        .withPropertySorter((a, b) -> 0) // as declared
        .withDescriptionResolver(scope -> scope.getType() == null ? null : valueOf(scope.getType().getErasedType().getAnnotation(Description.class)))
        .withCustomDefinitionProvider((type, context) -> type.isInstanceOf(RawJson.class) || type.isInstanceOf(JsonNode.class)
            ? new CustomDefinition(context.getGeneratorConfig().createObjectNode(), true) : null);
    config.forFields()
        .withTargetTypeOverridesResolver(field -> isOptional(field) ? List.of(within(field)) : null)
        .withRequiredCheck(field -> output || !mayBeMissing(field))
        .withNullableCheck(field -> output && isOptional(field))
        .withDescriptionResolver(field -> field.isFakeContainerItemScope() ? null : valueOf(field.getAnnotation(Description.class)))
        .withInstanceAttributeOverride((node, field, context) -> restrict(node, field));
    return new SchemaGenerator(config.build());
  }

  private static String valueOf(Description description) {
    return description == null ? null : description.value();
  }

  private static boolean isOptional(FieldScope field) {
    return !field.isFakeContainerItemScope() && OPTIONALS.containsKey(field.getDeclaredType().getErasedType());
  }

  /** The type in an Optional. */
  private static ResolvedType within(FieldScope field) {
    var inner = field.getDeclaredType().getTypeParameters();
    return inner.isEmpty() ? field.getContext().resolve(OPTIONALS.get(field.getDeclaredType().getErasedType())) : inner.get(0);
  }

  private static boolean mayBeMissing(FieldScope field) {
    return isOptional(field) || field.getAnnotation(Default.class) != null;
  }

  /** Adds what the annotations say: of a list, the bounds of values to its items. */
  private static void restrict(ObjectNode node, FieldScope field) {
    Limits limits = field.getAnnotation(Limits.class);
    boolean item = field.isFakeContainerItemScope();
    boolean list = !item && field.isContainerType();
    if (limits != null && !list) {
      restrictValues(node, limits);
    }
    if (limits != null && list) {
      put(node, "minItems", limits.minItems());
      put(node, "maxItems", limits.maxItems());
      if (limits.uniqueItems()) {
        node.put("uniqueItems", true);
      }
    }
    if (item) {
      return;
    }
    if (field.getAnnotation(Default.class) != null) {
      node.set("default", defaultOf(field));
    }
    if (field.getAnnotation(Header.class) != null) {
      node.put("x-mcp-header", field.getAnnotation(Header.class).value());
    }
  }

  private static void restrictValues(ObjectNode node, Limits limits) {
    put(node, "minimum", limits.min());
    put(node, "maximum", limits.max());
    put(node, "minLength", limits.minLength());
    put(node, "maxLength", limits.maxLength());
    if (!limits.pattern().isEmpty()) {
      node.put("pattern", limits.pattern());
    }
    if (!limits.format().isEmpty()) {
      node.put("format", limits.format());
    }
    if (limits.oneOf().length > 0) {
      node.set("enum", Json.MAPPER.valueToTree(limits.oneOf()));
    }
  }

  private static void put(ObjectNode node, String keyword, int count) {
    if (count >= 0) {
      node.put(keyword, count);
    }
  }

  private static void put(ObjectNode node, String keyword, double bound) {
    if (bound == Math.rint(bound) && Math.abs(bound) < 1L << 62) {
      node.put(keyword, (long) bound);
    } else if (!Double.isInfinite(bound)) {
      node.put(keyword, bound);
    }
  }

  private static JsonNode defaultOf(FieldScope field) {
    String text = field.getAnnotation(Default.class).value();
    var type = Json.MAPPER.constructType(field.getRawMember().getGenericType());
    for (String candidate : new String[] {text, Json.encode(text)}) {
      try {
        Json.MAPPER.readerFor(type).readValue(candidate);
        return Json.tree(candidate);
      } catch (JsonProcessingException | IllegalArgumentException e) {
        continue; // the next one, or none
      }
    }
    throw new DefinitionException("@Default(" + Json.encode(text) + ") of " + field.getName() + " is no JSON of " + type.toCanonical());
  }
}
