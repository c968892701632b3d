package io.mcpedge.capability;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.mcpedge.v1.CallToolResult;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Converts functions to tools, and their values to results. */
final class Tools {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.-]{1,64}");

  /** Types of the library that are no results of tools. */
  private static final List<Class<?>> OTHERS = List.of(PromptResult.class, PromptMessage.class, ReadResult.class, ResourceContents.class, Resource.class,
      SamplingResult.class, ElicitResult.class, Tool.class, Question.class, Call.class, Throwable.class);

  private Tools() {}

  /** A tool: its description, and its function from the arguments' JSON to a result. */
  record Entry(io.mcpedge.v1.Tool listed, Body body) {}

  interface Body {
    CallToolResult run(Call call, String arguments) throws Exception;
  }

  /** Defines a tool. Without a result type the value determines the result, and there is no output schema. */
  static <A, R> Entry of(String name, String description, Class<A> arguments, Class<R> result, ToolHandler<A, ? extends R> handler, ToolOption... options) {
    DefinitionException.unlessNamed("tool", name, description);
    String what = "tool " + checked(name);
    Class<R> typed = typed(what, result);
    boolean open = Stream.of(options).anyMatch(ToolOption::allowsUnknown);
    var tool = io.mcpedge.v1.Tool.newBuilder().setName(name).setDescription(description);
    ObjectNode schema = open ? Schemas.ofArguments(what, arguments) : Schemas.closed(what, arguments);
    ObjectNode listed = listed(schema);
    tool.setInputSchemaJson(listed.toString());
    if (typed != null) {
      tool.setOutputSchemaJson(Schemas.of(what, typed, true).toString());
    }
    for (ToolOption option : options) {
      option.apply(tool);
    }
    boolean generated = tool.getInputSchemaJson().equals(listed.toString());
    var read = new Arguments<>(arguments, generated ? schema : Json.MAPPER.createObjectNode());
    return new Entry(tool.build(), (call, text) -> {
      R value = handler.call(call, read.read(text));
      return encoded(what, typed == null ? resultOf(what, value) : Result.structured(notNull(what, value)));
    });
  }

  /** Returns the listed form of the schema by which arguments are read. */
  private static ObjectNode listed(ObjectNode schema) {
    ObjectNode listed = schema.deepCopy().without("$defs");
    Schemas.inline(listed, schema, List.of("#"));
    listed.withObjectProperty("properties"); // some interfaces of models require it
    return listed;
  }

  /** Returns the listed schema of a type of arguments. */
  static ObjectNode inputSchema(String what, Class<?> arguments) {
    return listed(Schemas.closed(what, arguments));
  }

  static Entry raw(Tool described, ToolHandler<RawJson, Result> handler, ToolOption... options) {
    String what = "tool " + checked(described.name());
    var tool = Wire.tool(described).toBuilder();
    for (ToolOption option : options) {
      option.apply(tool);
    }
    var read = new Arguments<>(RawJson.class, Json.MAPPER.createObjectNode());
    return new Entry(tool.build(), (call, text) -> encoded(what, notNull(what, handler.call(call, read.read(text)))));
  }

  private static String checked(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new DefinitionException("tool name " + Json.quote(name) + ": use 1 to 64 of A-Z a-z 0-9 _ . -");
    }
    return name;
  }

  /** Returns the type of structured content; null for types that the value determines: text, content and complete results. */
  private static <R> Class<R> typed(String what, Class<R> result) {
    if (result == null) {
      return null;
    }
    String refused = Official.refusal(result);
    if (refused == null && OTHERS.contains(result)) {
      refused = "a " + result.getSimpleName() + ", which is no result of a tool: give a String, Content or a Result";
    }
    if (refused != null) {
      throw new DefinitionException(what + " has as the type of its result " + refused);
    }
    boolean untyped = List.of(String.class, Result.class, Object.class, Void.class, void.class, Map.class).contains(result);
    return untyped || Content.class.isAssignableFrom(result) || Official.isOfficial(result) ? null : result;
  }

  /** Converts a value of any type to a result. Throws Failure INTERNAL if that is impossible. */
  static Result resultOf(String what, Object returned) throws Exception {
    Object value = Official.settled(returned);
    if (value == null) {
      return Result.of();
    }
    if (value instanceof CharSequence text) {
      return Result.of(Content.text(text.toString()));
    }
    if (value instanceof Result result) {
      return result;
    }
    Official official = new Official(what, "return Result.structured(…)");
    Content one = official.contentOf(value);
    if (one != null) {
      return Result.of(one);
    }
    Collection<?> list = value instanceof Collection<?> all ? all : value instanceof Object[] array ? Arrays.asList(array) : List.of();
    if (list.stream().anyMatch(item -> official.contentOf(item) != null)) {
      return contents(official, list);
    }
    Result whole = official.result(value);
    if (whole != null) {
      return whole;
    }
    String refused = Official.refusal(value.getClass());
    if (refused != null) {
      throw official.fail(refused);
    }
    if (OTHERS.stream().anyMatch(other -> other.isInstance(value)) || Official.isOfficial(value.getClass())) {
      throw official.fail("a " + value.getClass().getSimpleName() + ", which is no result of a tool: return a String, Content or a Result");
    }
    return Result.structured(value);
  }

  /** Converts a list that contains content: a String in it is text, and any other value an error. */
  private static Result contents(Official official, Collection<?> list) {
    List<Content> out = new ArrayList<>();
    for (Object item : list) {
      Content content = item instanceof String text ? Content.text(text) : official.contentOf(item);
      if (content == null) {
        throw official.fail("a list of content with a " + (item == null ? "null" : item.getClass().getSimpleName()) + " in it: give Content or a String");
      }
      out.add(content);
    }
    return new Result(out, null, false, null);
  }

  /** The message of a result. Throws Failure INTERNAL if it cannot be encoded. */
  private static CallToolResult encoded(String what, Result result) {
    Object value = result.structuredContent();
    try {
      CallToolResult wire = result.wire();
      if (wire.getStructuredContentJson().equals("{}") && !(value instanceof Map || value instanceof Record || value instanceof RawJson || value instanceof JsonNode)) {
        throw new IllegalArgumentException(value.getClass().getName() + " has no members that Jackson writes: give a record, or a class with getters");
      }
      return wire;
    } catch (IllegalArgumentException e) {
      throw new Failure(Reason.INTERNAL, what + " returned what cannot be sent: " + e.getMessage());
    }
  }

  private static <V> V notNull(String what, V value) {
    if (value == null) {
      throw new Failure(Reason.INTERNAL, what + " returned null; return a value of its result's type");
    }
    return value;
  }

  /** Converts an exception without a reason to a tool error. */
  static CallToolResult plain(Exception e) {
    return Result.error(Rounds.text(e)).wire();
  }
}
