package io.mcpedge.capability;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.mcpedge.v1.CallToolResult;
import java.util.List;
import java.util.regex.Pattern;

/** Makes tools of functions. */
final class Tools {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.-]{1,64}");

  private Tools() {}

  /** A tool: its description, and its function from the arguments' JSON to a result. */
  record Entry(io.mcpedge.v1.Tool listed, Body body) {}

  interface Body {
    CallToolResult run(Call call, String arguments) throws Exception;
  }

  /** A null result type: what the value is decides, and there is no output schema. */
  static <A, R> Entry of(String name, String description, Class<A> arguments, Class<R> result, ToolHandler<A, ? extends R> handler, ToolOption... options) {
    DefinitionException.unlessNamed("tool", name, description);
    String what = "tool " + checked(name);
    var tool = io.mcpedge.v1.Tool.newBuilder().setName(name).setDescription(description);
    ObjectNode schema = Schemas.ofArguments(what, arguments);
    ObjectNode listed = listed(schema);
    tool.setInputSchemaJson(listed.toString());
    if (result != null) {
      tool.setOutputSchemaJson(Schemas.of(what, result, true).toString());
    }
    for (ToolOption option : options) {
      option.apply(tool);
    }
    boolean generated = tool.getInputSchemaJson().equals(listed.toString());
    var read = new Arguments<>(arguments, generated ? schema : Json.MAPPER.createObjectNode());
    return new Entry(tool.build(), (call, text) -> {
      R value = handler.call(call, read.read(text));
      return result == null ? resultOf(value) : Result.structured(notNull(what, value)).wire();
    });
  }

  /** The schema of arguments as it is listed, of that by which they are read. */
  private static ObjectNode listed(ObjectNode schema) {
    ObjectNode listed = schema.deepCopy().without("$defs");
    Schemas.inline(listed, schema, List.of("#"));
    listed.withObjectProperty("properties"); // some interfaces of models require it
    return listed;
  }

  /** The schema of a type of arguments, as it is listed. */
  static ObjectNode inputSchema(String what, Class<?> arguments) {
    return listed(Schemas.ofArguments(what, arguments));
  }

  static Entry raw(Tool described, ToolHandler<RawJson, Result> handler, ToolOption... options) {
    String what = "tool " + checked(described.name());
    var tool = Wire.tool(described).toBuilder();
    for (ToolOption option : options) {
      option.apply(tool);
    }
    var read = new Arguments<>(RawJson.class, Json.MAPPER.createObjectNode());
    return new Entry(tool.build(), (call, text) -> notNull(what, handler.call(call, read.read(text))).wire());
  }

  private static String checked(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new DefinitionException("tool name " + Json.quote(name) + ": use 1 to 64 of A-Z a-z 0-9 _ . -");
    }
    return name;
  }

  private static CallToolResult resultOf(Object value) {
    if (value == null) {
      return CallToolResult.getDefaultInstance();
    }
    if (value instanceof String text) {
      return Result.of(Content.text(text)).wire();
    }
    if (value instanceof Content block) {
      return Result.of(block).wire();
    }
    if (value instanceof Result result) {
      return result.wire();
    }
    if (value instanceof List<?> list && !list.isEmpty() && list.stream().allMatch(Content.class::isInstance)) {
      return Result.of(list.toArray(Content[]::new)).wire();
    }
    return Result.structured(value).wire();
  }

  private static <V> V notNull(String what, V value) {
    if (value == null) {
      throw new Failure(Reason.INTERNAL, what + " returned null; return a value of its result's type");
    }
    return value;
  }

  /** An exception without a kind is for the model to see. */
  static CallToolResult plain(Exception e) {
    return Result.error(Rounds.text(e)).wire();
  }
}
