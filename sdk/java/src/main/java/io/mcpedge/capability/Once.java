package io.mcpedge.capability;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.exc.InvalidDefinitionException;
import java.util.concurrent.Callable;

/**
 * Values that once keeps, as JSON. A value that JSON does not have is a fault of the program, Failure INTERNAL: as an error for the model it would
 * be tried again, and the effect has happened.
 */
final class Once {
  private Once() {}

  /** The JSON of the function's value; the function does not run if its type cannot be read. */
  static <T> String run(Answers answers, String key, Class<T> type, Callable<T> fn) throws Exception {
    try {
      Json.MAPPER.readerFor(type).readValue("{}");
    } catch (InvalidDefinitionException e) {
      throw wrong(answers, key, type, e);
    } catch (JsonProcessingException e) {
      // it is not read from an object
    }
    T value = fn.call();
    try {
      return Json.encode(value);
    } catch (DefinitionException e) {
      throw answers.mistaken("the value of once " + Json.quote(key) + " cannot be kept: " + e.getMessage() + "; give a record");
    }
  }

  static <T> T read(Answers answers, String key, Class<T> type, String text) {
    try {
      return Json.MAPPER.readValue(text, type);
    } catch (JsonProcessingException e) {
      throw wrong(answers, key, type, e);
    }
  }

  private static Failure wrong(Answers answers, String key, Class<?> type, JsonProcessingException e) {
    return answers.mistaken("the value of once " + Json.quote(key) + " cannot be read as " + type.getName() + ": give a record, or an array of them ("
        + e.getOriginalMessage() + ")");
  }
}
