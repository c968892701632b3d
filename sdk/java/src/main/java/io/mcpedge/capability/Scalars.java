package io.mcpedge.capability;

import com.fasterxml.classmate.ResolvedType;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.deser.BeanDeserializerBase;
import com.fasterxml.jackson.databind.deser.DefaultDeserializationContext;
import com.fasterxml.jackson.databind.deser.ValueInstantiator;
import com.fasterxml.jackson.databind.jsonFormatVisitors.*;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.*;
import java.util.*;

/** Types that Jackson writes as one value, not as an object. */
final class Scalars {
  /** The types that the schema generator supports, with their formats. */
  private static final Set<Class<?>> KNOWN = Set.of(String.class, CharSequence.class, char.class, Character.class, boolean.class, Boolean.class,
      byte.class, Byte.class, short.class, Short.class, int.class, Integer.class, long.class, Long.class, float.class, Float.class, double.class,
      Double.class, Number.class, BigDecimal.class, BigInteger.class, UUID.class, URI.class, LocalDate.class, LocalDateTime.class, LocalTime.class,
      ZonedDateTime.class, OffsetDateTime.class, OffsetTime.class, Instant.class, Duration.class, Date.class, Calendar.class);

  private Scalars() {}

  /** Returns the type of Jackson, with its parameters. */
  static JavaType ofJackson(ResolvedType type) {
    if (type.isArray()) {
      return Json.MAPPER.getTypeFactory().constructArrayType(ofJackson(type.getArrayElementType()));
    }
    JavaType[] parameters = type.getTypeParameters().stream().map(Scalars::ofJackson).toArray(JavaType[]::new);
    return parameters.length == 0 ? Json.MAPPER.constructType(type.getErasedType())
        : Json.MAPPER.getTypeFactory().constructParametricType(type.getErasedType(), parameters);
  }

  /** The schema of an enum: its constants as Jackson writes and reads them, whichever of them an annotation renames. */
  static ObjectNode ofEnum(Class<?> type) {
    List<JsonNode> constants = Arrays.stream(type.getEnumConstants()).<JsonNode>map(Json.MAPPER::valueToTree).toList();
    ObjectNode schema = Json.MAPPER.createObjectNode();
    if (constants.stream().allMatch(JsonNode::isTextual)) {
      schema.put("type", "string");
    } else if (constants.stream().allMatch(JsonNode::isIntegralNumber)) {
      schema.put("type", "integer");
    }
    schema.putArray("enum").addAll(constants);
    return schema;
  }

  /**
   * The type in JSON of what Jackson writes as one value, and, for input, reads from one: Locale, Path, a record around a value. Null for
   * other types, and for those that the generator knows.
   */
  static String of(ResolvedType type, boolean output) {
    JavaType jackson = ofJackson(type);
    if (KNOWN.contains(type.getErasedType()) || jackson.isContainerType() || jackson.isReferenceType()) {
      return null;
    }
    var seen = new Seen();
    try {
      Json.MAPPER.acceptJsonFormatVisitor(jackson, seen);
      return seen.type == null || output || reads(jackson) ? seen.type : null;
    } catch (JsonMappingException | IllegalArgumentException e) {
      return null; // Jackson says why when the type is read or written
    }
  }

  /** Returns whether Jackson reads the type from one value, not from an object. */
  private static boolean reads(JavaType type) throws JsonMappingException {
    var context = (DefaultDeserializationContext) Json.MAPPER.getDeserializationContext();
    JsonDeserializer<?> reader = context.createDummyInstance(Json.MAPPER.getDeserializationConfig()).findRootValueDeserializer(type);
    if (!(reader instanceof BeanDeserializerBase bean)) {
      return true;
    }
    ValueInstantiator makes = bean.getValueInstantiator();
    return makes.canCreateUsingDelegate() || makes.canCreateFromString() || makes.canCreateFromInt() || makes.canCreateFromLong()
        || makes.canCreateFromDouble() || makes.canCreateFromBoolean();
  }

  /** Records which kind of value Jackson writes. */
  private static final class Seen extends JsonFormatVisitorWrapper.Base {
    private String type;

    @Override
    public JsonStringFormatVisitor expectStringFormat(JavaType of) {
      type = "string";
      return null;
    }

    @Override
    public JsonNumberFormatVisitor expectNumberFormat(JavaType of) {
      type = "number";
      return null;
    }

    @Override
    public JsonIntegerFormatVisitor expectIntegerFormat(JavaType of) {
      type = "integer";
      return null;
    }

    @Override
    public JsonBooleanFormatVisitor expectBooleanFormat(JavaType of) {
      type = "boolean";
      return null;
    }
  }
}
