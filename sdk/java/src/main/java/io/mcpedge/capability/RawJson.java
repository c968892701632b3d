package io.mcpedge.capability;

import com.fasterxml.jackson.annotation.JsonRawValue;
import com.fasterxml.jackson.annotation.JsonValue;

/** A JSON value as text, sent unchanged, with the text of each number. */
public record RawJson(@JsonValue @JsonRawValue String text) {
  /** Throws IllegalArgumentException if it is not JSON. */
  public RawJson {
    Json.tree(text);
  }

  /** The value read as a type: a record, {@code Map.class} … Throws IllegalArgumentException if it does not fit. */
  public <T> T as(Class<T> type) {
    return Json.decode(text, type);
  }

  @Override
  public String toString() {
    return text;
  }
}
