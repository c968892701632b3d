package io.mcpedge.capability;

/** Checks the members of records. */
final class Texts {
  private Texts() {}

  static String orEmpty(String text) {
    return text == null ? "" : text;
  }

  /** Throws IllegalArgumentException for null. */
  static <T> T given(String what, T value) {
    if (value == null) {
      throw new IllegalArgumentException(what + " is null; give one");
    }
    return value;
  }
}
