package io.mcpedge.capability;

import com.google.protobuf.Duration;
import io.mcpedge.v1.*;
import java.util.List;
import java.util.function.Consumer;

/** Adjusts a tool. */
@FunctionalInterface
public interface ToolOption extends Consumer<Tool.Builder> {
  /** The tool's name for people. */
  static ToolOption title(String title) {
    return t -> t.setTitle(title);
  }

  /** Shown with the tool. */
  static ToolOption icons(Icon... icons) {
    return t -> t.addAllIcons(List.of(icons));
  }

  /** The tool's {@code _meta}, a value that encodes as a JSON object. */
  static ToolOption meta(Object object) {
    return t -> t.setMetaJson(Json.object("_meta of a tool", Json.encode(object)).toString());
  }

  /** The tool changes nothing. The edge relies on it: a call may be retried after a replica was lost. MCP: readOnlyHint. */
  static ToolOption readOnly() {
    return t -> t.getAnnotationsBuilder().setReadOnly(true);
  }

  /** Repeating the call changes nothing more. The edge relies on it as on readOnly. MCP: idempotentHint. */
  static ToolOption idempotent() {
    return t -> t.getAnnotationsBuilder().setIdempotent(true);
  }

  /** Whether the tool may destroy something; clients assume that it may. MCP: destructiveHint. */
  static ToolOption destructive(boolean yes) {
    return t -> t.getAnnotationsBuilder().setDestructive(yes);
  }

  /** Whether the tool reaches beyond a closed world, as a web search does; clients assume that it does. MCP: openWorldHint. */
  static ToolOption openWorld(boolean yes) {
    return t -> t.getAnnotationsBuilder().setOpenWorld(yes);
  }

  /** Replaces the schema of the arguments, unchanged: JSON Schema 2020-12 with an object at its root. */
  static ToolOption inputSchema(String schema) {
    Json.object("an input schema", schema);
    return t -> t.setInputSchemaJson(schema);
  }

  /** Replaces the schema of the result, unchanged; "" sends none. */
  static ToolOption outputSchema(String schema) {
    if (!schema.isEmpty()) {
      Json.object("an output schema", schema);
    }
    return t -> t.setOutputSchemaJson(schema);
  }

  /** The schema of the structured content, generated from a type; for tools whose handler returns a Result. */
  static ToolOption outputType(Class<?> type) {
    return outputSchema(Schemas.of("the output type", type, true).toString());
  }

  /**
   * Calls become tasks if their clients support tasks. Clients need not keep a connection for a task. The handler serves a task
   * as any other call. MCP: execution.taskSupport.
   */
  static ToolOption tasksOptional() {
    return t -> t.getTaskSupportBuilder().setMode(TaskMode.TASK_MODE_OPTIONAL);
  }

  /** All calls become tasks. The edge refuses calls of clients that do not support tasks. */
  static ToolOption tasksRequired() {
    return t -> t.getTaskSupportBuilder().setMode(TaskMode.TASK_MODE_REQUIRED);
  }

  /** Calls become tasks before the handler runs; the default of tasksRequired. */
  static ToolOption tasksAtOnce() {
    return t -> t.getTaskSupportBuilder().setStart(TaskStart.TASK_START_AT_ONCE);
  }

  /**
   * Calls become tasks after the handler has run for some time, two seconds by default, or by {@link Call#defer}; the default of
   * tasksOptional.
   */
  static ToolOption tasksDeferred() {
    return t -> t.getTaskSupportBuilder().setStart(TaskStart.TASK_START_DEFERRED);
  }

  /** The interval at which clients should poll a task of the tool: 100 ms to 1 h. MCP: pollIntervalMs. */
  static ToolOption tasksPoll(java.time.Duration interval) {
    var wire = Duration.newBuilder().setSeconds(interval.getSeconds()).setNanos(interval.getNano()).build();
    return t -> t.getTaskSupportBuilder().setPollInterval(wire);
  }
}
