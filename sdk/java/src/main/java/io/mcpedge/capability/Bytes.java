package io.mcpedge.capability;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.regex.Pattern;

/** Bytes in JSON: base64 (RFC 4648, section 4) in a string, whose schema has {@code contentEncoding}. */
final class Bytes {
  /** The maximum size of a byte[] without {@code @Limits(maxLength)}. */
  static final int MOST = 1 << 20;

  private static final Pattern BASE64 = Pattern.compile("[A-Za-z0-9+/]*={0,2}");

  private Bytes() {}

  /** Returns the length of a number of bytes in base64. */
  static int characters(int bytes) {
    return (int) Math.min(Integer.MAX_VALUE, (bytes + 2L) / 3 * 4);
  }

  /** Returns whether a schema is one of bytes. */
  static boolean are(JsonNode schema) {
    return schema.path("contentEncoding").asText().equals("base64");
  }

  /** Describes in words what the schema of bytes requires of a text. */
  static String wanted(JsonNode schema) {
    return "base64 of at most " + schema.path("maxLength").asLong(characters(MOST)) / 4 * 3 + " bytes: the standard alphabet, with padding, without line breaks";
  }

  /** Returns whether a text is base64 of a permitted size. */
  static boolean fit(JsonNode schema, String text) {
    return text.length() <= schema.path("maxLength").asInt(characters(MOST)) && text.length() % 4 == 0 && BASE64.matcher(text).matches();
  }
}
