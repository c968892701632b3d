package io.mcpedge.capability;

import com.google.protobuf.Duration;
import io.mcpedge.v1.TaskMode;
import io.mcpedge.v1.TaskStart;
import io.mcpedge.v1.Tool;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Adjusts a tool. */
public final class ToolOption {
  private final Consumer<Tool.Builder> change;

  private final boolean allowsUnknown;

  private ToolOption(Consumer<Tool.Builder> change) {
    this(change, false);
  }

  private ToolOption(Consumer<Tool.Builder> change, boolean allowsUnknown) {
    this.change = change;
    this.allowsUnknown = allowsUnknown;
  }

  boolean allowsUnknown() {
    return allowsUnknown;
  }

  void apply(Tool.Builder tool) {
    change.accept(tool);
  }

  /** The tool's name for people. */
  public static ToolOption title(String title) {
    return new ToolOption(t -> t.setTitle(title));
  }

  /** Images that clients may show with the tool. */
  public static ToolOption icons(Icon... icons) {
    return new ToolOption(t -> t.addAllIcons(Wire.icons(List.of(icons))));
  }

  /** The tool's {@code _meta}. */
  public static ToolOption meta(Map<String, Object> object) {
    return new ToolOption(t -> t.setMetaJson(Wire.meta(object)));
  }

  /** The tool changes nothing. The edge relies on it: a call may be retried after a replica was lost. MCP: readOnlyHint. */
  public static ToolOption readOnly() {
    return new ToolOption(t -> t.getAnnotationsBuilder().setReadOnly(true));
  }

  /** Repeating the call changes nothing more. The edge relies on it as on readOnly. MCP: idempotentHint. */
  public static ToolOption idempotent() {
    return new ToolOption(t -> t.getAnnotationsBuilder().setIdempotent(true));
  }

  /** Whether the tool may destroy something; clients assume that it may. MCP: destructiveHint. */
  public static ToolOption destructive(boolean yes) {
    return new ToolOption(t -> t.getAnnotationsBuilder().setDestructive(yes));
  }

  /** Whether the tool accesses external systems, as a web search does; clients assume that it does. MCP: openWorldHint. */
  public static ToolOption openWorld(boolean yes) {
    return new ToolOption(t -> t.getAnnotationsBuilder().setOpenWorld(yes));
  }

  /** Drops arguments that are no components of the record. By default they are refused by name. */
  public static ToolOption allowUnknownArguments() {
    return new ToolOption(t -> {}, true);
  }

  /** Replaces the schema of the arguments, unchanged: JSON Schema 2020-12 with an object at its root. */
  public static ToolOption inputSchema(String schema) {
    Json.object("an input schema", schema);
    return new ToolOption(t -> t.setInputSchemaJson(schema));
  }

  /** Replaces the schema of the result, unchanged; "" sends none. */
  public static ToolOption outputSchema(String schema) {
    if (!schema.isEmpty()) {
      Json.object("an output schema", schema);
    }
    return new ToolOption(t -> t.setOutputSchemaJson(schema));
  }

  /** The schema of the structured content, generated from a type; for tools whose handler returns a Result. */
  public static ToolOption outputType(Class<?> type) {
    return outputSchema(Schemas.of("the output type", type, true).toString());
  }

  /**
   * Calls become tasks if their clients support tasks, which then need no open connection. The handler serves a task as any other
   * call. MCP: execution.taskSupport.
   */
  public static ToolOption tasksOptional() {
    return new ToolOption(t -> t.getTaskSupportBuilder().setMode(TaskMode.TASK_MODE_OPTIONAL));
  }

  /** All calls become tasks. The edge refuses calls of clients that do not support tasks. */
  public static ToolOption tasksRequired() {
    return new ToolOption(t -> t.getTaskSupportBuilder().setMode(TaskMode.TASK_MODE_REQUIRED));
  }

  /** Calls become tasks before the handler runs; the default of tasksRequired. */
  public static ToolOption tasksAtOnce() {
    return new ToolOption(t -> t.getTaskSupportBuilder().setStart(TaskStart.TASK_START_AT_ONCE));
  }

  /**
   * Calls become tasks after the handler has run for some time, two seconds by default, or by {@link Call#defer}; the default of
   * tasksOptional.
   */
  public static ToolOption tasksDeferred() {
    return new ToolOption(t -> t.getTaskSupportBuilder().setStart(TaskStart.TASK_START_DEFERRED));
  }

  /** The interval at which clients should poll a task of the tool: 100 ms to 1 h. MCP: pollIntervalMs. */
  public static ToolOption tasksPoll(java.time.Duration interval) {
    var wire = Duration.newBuilder().setSeconds(interval.getSeconds()).setNanos(interval.getNano()).build();
    return new ToolOption(t -> t.getTaskSupportBuilder().setPollInterval(wire));
  }
}
