package io.mcpedge.capability;

import com.fasterxml.classmate.ResolvedType;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.victools.jsonschema.generator.*;
import com.github.victools.jsonschema.module.jackson.JacksonModule;
import java.util.*;
import java.util.stream.Stream;

/** Generates JSON Schemas of records, enums, lists and other types that Jackson reads and writes. */
final class Schemas {
  private static final Map<Class<?>, Class<?>> OPTIONALS = Map.of(
      Optional.class, Object.class, OptionalInt.class, Integer.class, OptionalLong.class, Long.class, OptionalDouble.class, Double.class);
  /** The type of values that a keyword bounds; integers are numbers. */
  private static final Map<String, String> BOUNDS = Map.of("minimum", "number", "maximum", "number", "minLength", "string", "maxLength", "string",
      "pattern", "string", "minItems", "array", "maxItems", "array");
  /** The integer types with bounds in the schema. The bounds of long are not exact in JavaScript, so it has none. */
  private static final Map<Class<?>, long[]> INTEGERS = new HashMap<>();
  private static final SchemaGenerator INPUT;
  private static final SchemaGenerator OUTPUT;

  static {
    // The generator logs by SLF4J, which writes a warning to standard error in programs without a provider.
    if (System.getProperty("slf4j.internal.verbosity") == null) {
      System.setProperty("slf4j.internal.verbosity", "ERROR");
    }
    List.of(int.class, Integer.class).forEach(type -> INTEGERS.put(type, new long[] {Integer.MIN_VALUE, Integer.MAX_VALUE}));
    List.of(short.class, Short.class).forEach(type -> INTEGERS.put(type, new long[] {Short.MIN_VALUE, Short.MAX_VALUE}));
    List.of(byte.class, Byte.class).forEach(type -> INTEGERS.put(type, new long[] {Byte.MIN_VALUE, Byte.MAX_VALUE}));
    INPUT = generator(false);
    OUTPUT = generator(true);
  }

  private Schemas() {}

  /**
   * The schema of a type as input, or as output, where all members are required. DefinitionException, with a message that begins with
   * what, if there is none.
   */
  static ObjectNode of(String what, Class<?> type, boolean output) {
    try {
      ObjectNode schema = (output ? OUTPUT : INPUT).generateSchema(type);
      schema.remove("$schema");
      checkLimits("", schema);
      return schema;
    } catch (DefinitionException e) {
      throw new DefinitionException(what + ": " + e.getMessage(), e);
    } catch (RuntimeException | StackOverflowError e) {
      throw new DefinitionException(what + ": " + type.getName() + " makes no schema: " + e, e);
    }
  }

  /** Returns the schema of an input type that is an object. */
  static ObjectNode ofArguments(String what, Class<?> type) {
    ObjectNode schema = of(what, type, false);
    if (schema.isEmpty()) {
      schema.put("type", "object"); // Object, RawJson
    }
    if (!schema.path("type").asText().equals("object")) {
      throw new DefinitionException(what + ": arguments are a JSON object; use a record or a Map, not " + type.getName());
    }
    return schema;
  }

  /** Returns the schema of ofArguments that refuses unknown members. A Map and a type of any JSON permit all. */
  static ObjectNode closed(String what, Class<?> type) {
    ObjectNode schema = ofArguments(what, type);
    boolean any = Map.class.isAssignableFrom(type) || type == Object.class || type == RawJson.class || JsonNode.class.isAssignableFrom(type);
    return any || schema.has("additionalProperties") ? schema : schema.put("additionalProperties", false);
  }

  /**
   * Replaces the references of a schema by their targets, since some clients support none. A type within itself is any object, or any
   * value if it is none.
   *
   * @param whole what the references point into
   * @param within the references around this schema
   */
  static void inline(JsonNode schema, ObjectNode whole, List<String> within) {
    schema.forEach(child -> inline(child, whole, within));
    if (schema instanceof ObjectNode object && object.path("$ref").isTextual()) {
      String reference = object.remove("$ref").asText();
      ObjectNode target = whole.at(reference.substring(1)).deepCopy();
      if (within.contains(reference)) {
        target.retain(target.path("type").asText().equals("object") ? "type" : "");
        target.put("description", "as the one above that holds it");
      }
      inline(target, whole, Stream.concat(within.stream(), Stream.of(reference)).toList());
      object.setAll((ObjectNode) target.setAll(object));
    }
  }

  private static SchemaGenerator generator(boolean output) {
    var config = new SchemaGeneratorConfigBuilder(SchemaVersion.DRAFT_2020_12, OptionPreset.PLAIN_JSON);
    config.forTypesInGeneral()
        .withPropertySorter((a, b) -> 0) // as declared
        .withDescriptionResolver(scope -> scope.getType() == null ? null : valueOf(scope.getType().getErasedType().getAnnotation(Description.class)))
        .withCustomDefinitionProvider(new Definitions(output));
    config.with(new JacksonModule())
        .with(Option.MAP_VALUES_AS_ADDITIONAL_PROPERTIES, Option.INLINE_NULLABLE_SCHEMAS)
        .without(Option.SCHEMA_VERSION_INDICATOR, Option.FLATTENED_OPTIONALS);
    config.forFields()
        .withTargetTypeOverridesResolver(field -> isOptional(field) ? List.of(within(field)) : null)
        .withRequiredCheck(field -> output || !mayBeMissing(field))
        .withNullableCheck(field -> output && isOptional(field))
        .withDescriptionResolver(field -> field.isFakeContainerItemScope() ? null : Habits.description(field))
        .withInstanceAttributeOverride((node, field, context) -> restrict(node, field, output));
    return new SchemaGenerator(config.build());
  }

  /** Types with schemas that differ from the generator's. An input type that Jackson cannot read throws DefinitionException. */
  private record Definitions(boolean output) implements CustomDefinitionProviderV2 {
    @Override
    public CustomDefinition provideCustomSchemaDefinition(ResolvedType type, SchemaGenerationContext context) {
      if (type.isInstanceOf(RawJson.class) || type.isInstanceOf(JsonNode.class)) {
        return new CustomDefinition(context.getGeneratorConfig().createObjectNode(), true);
      }
      if (type.getErasedType() == byte[].class) {
        return new CustomDefinition(context.getGeneratorConfig().createObjectNode().put("type", "string").put("contentEncoding", "base64"), true);
      }
      if (!output) {
        checkRead(type);
      }
      if (type.isInstanceOf(Enum.class) && type.getErasedType().isEnum()) {
        return new CustomDefinition(Scalars.ofEnum(type.getErasedType()), true);
      }
      long[] bounds = INTEGERS.get(type.getErasedType());
      if (bounds != null && !output) {
        return new CustomDefinition(context.createStandardDefinition(type, this).put("minimum", bounds[0]).put("maximum", bounds[1]), true);
      }
      String scalar = Scalars.of(type, output);
      return scalar == null ? null : new CustomDefinition(context.getGeneratorConfig().createObjectNode().put("type", scalar), true);
    }
  }

  private static void checkRead(ResolvedType type) {
    try {
      Json.MAPPER.readerFor(Scalars.ofJackson(type)).readValue("{}");
    } catch (com.fasterxml.jackson.databind.exc.InvalidDefinitionException e) {
      throw new DefinitionException(type.getErasedType().getName() + " cannot be decoded; use a record: " + e.getOriginalMessage(), e);
    } catch (JsonProcessingException e) {
      return; // it is not read from an object
    }
  }

  /** Throws DefinitionException for a bound that does not suit the type, and for bounds that exclude all values. */
  private static void checkLimits(String path, JsonNode schema) {
    String type = schema.path("type").isTextual() ? schema.get("type").asText().replace("integer", "number") : "";
    BOUNDS.forEach((keyword, of) -> {
      if (schema.path(keyword).isValueNode() && !type.isEmpty() && !type.equals(of)) {
        throw new DefinitionException("@Limits" + path + ": " + keyword + " is of a" + (of.equals("array") ? "n " : " ") + of + ", and this is a" + (type.matches("[ao].*") ? "n " : " ") + type);
      }
      JsonNode most = schema.path(keyword.replace("min", "max"));
      if (keyword.startsWith("min") && most.isNumber() && schema.path(keyword).asDouble() > most.asDouble()) {
        throw new DefinitionException("@Limits" + path + ": no value is at least " + schema.get(keyword) + " and at most " + most);
      }
    });
    if (schema instanceof ObjectNode object) {
      object.properties().forEach(child -> checkLimits(List.of("properties", "items", "$defs").contains(child.getKey()) ? path : " of " + child.getKey(), child.getValue()));
    }
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

  private static boolean isBytes(FieldScope field) {
    return (isOptional(field) ? within(field) : field.getType()).getErasedType() == byte[].class;
  }

  private static boolean mayBeMissing(FieldScope field) {
    return isOptional(field) || field.getAnnotation(Default.class) != null || Habits.mayBeMissing(field);
  }

  /** Adds the annotations; on a list, bounds of values are for its items. */
  private static void restrict(ObjectNode node, FieldScope field, boolean output) {
    Limits limits = field.getAnnotation(Limits.class);
    boolean item = field.isFakeContainerItemScope();
    boolean bytes = isBytes(field);
    boolean list = !item && field.isContainerType() && !bytes;
    if (!output) {
      Constraints.restrict(node, field, isOptional(field) ? within(field) : field.getType());
    }
    if (limits != null && !list) {
      restrictValues(node, limits);
    }
    if (bytes && !output) {
      node.put("maxLength", Bytes.characters(limits == null || limits.maxLength() < 0 ? Bytes.MOST : limits.maxLength()));
    }
    if (limits != null && !item) {
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
