package io.mcpedge.capability;

import com.fasterxml.jackson.core.*;
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.cfg.*;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.type.LogicalType;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.nio.charset.StandardCharsets;

/** Reads and writes JSON for the library: strictly, with dates as text. */
final class Json {
  /** Permits strings up to the size of a message, 16 MiB. */
  private static final StreamReadConstraints BOUNDS = StreamReadConstraints.builder().maxStringLength(16 << 20).build();

  static final JsonMapper MAPPER = JsonMapper.builder(JsonFactory.builder().streamReadConstraints(BOUNDS).build())
      .addModule(new Jdk8Module())
      .addModule(new JavaTimeModule())
      .addModule(new SimpleModule().addSerializer(Content.class, new NoContent()))
      .withCoercionConfig(LogicalType.Textual, texts -> texts.setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
          .setCoercion(CoercionInputShape.Float, CoercionAction.Fail).setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
      .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
      .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
      .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
      .disable(DeserializationFeature.ADJUST_DATES_TO_CONTEXT_TIME_ZONE)
      .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
      .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
      .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
      .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
      .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
      .disable(SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
      .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
      .build();

  /** Refuses content within a value: its JSON would not be content for clients. */
  private static final class NoContent extends JsonSerializer<Content> {
    @Override
    public void serialize(Content value, JsonGenerator out, SerializerProvider provider) throws JsonMappingException {
      throw JsonMappingException.from(out, "a " + value.getClass().getSimpleName() + " is no value of JSON: return it as content, in a List or a Result");
    }
  }

  private Json() {}

  /** Throws DefinitionException if the value cannot be encoded. A RawJson is encoded verbatim. */
  static String encode(Object value) {
    if (value instanceof RawJson raw) {
      return raw.text();
    }
    try {
      return MAPPER.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new DefinitionException((value == null ? "null" : value.getClass().getName()) + " cannot be encoded as JSON: " + e.getOriginalMessage(), e);
    }
  }

  static <T> T decode(String text, Class<T> type) {
    try {
      return MAPPER.readValue(text, type);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e.getOriginalMessage(), e);
    }
  }

  static JsonNode tree(String text) {
    try {
      JsonNode node = MAPPER.readTree(text);
      if (node.isMissingNode()) {
        throw new IllegalArgumentException("it is empty");
      }
      return node;
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("it is not JSON: " + e.getOriginalMessage(), e);
    }
  }

  /** Throws DefinitionException if the text is not a JSON object. */
  static ObjectNode object(String what, String text) {
    try {
      if (tree(text) instanceof ObjectNode object) {
        return object;
      }
    } catch (IllegalArgumentException e) {
      throw new DefinitionException(what + " must be a JSON object: " + e.getMessage(), e);
    }
    throw new DefinitionException(what + " must be a JSON object, not " + shortened(text, 80));
  }

  /** Quotes a name from a request, cut to 200 characters. */
  static String quote(String name) {
    return encode(shortened(name, 200));
  }

  private static String shortened(String text, int most) {
    return text.length() <= most ? text : text.substring(0, most) + "…";
  }

  /** Replaces lone surrogates, which protobuf refuses, by U+FFFD. */
  static String valid(String text) {
    if (text == null) {
      return "";
    }
    for (int i = 0; i < text.length(); i++) {
      if (Character.isSurrogate(text.charAt(i))) {
        return new String(text.getBytes(StandardCharsets.UTF_16BE), StandardCharsets.UTF_16BE);
      }
    }
    return text;
  }
}
