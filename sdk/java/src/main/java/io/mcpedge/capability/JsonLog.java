package io.mcpedge.capability;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.logging.*;

/** Writes log records as lines of JSON: time, level, msg, logger, and the stack of an exception. */
final class JsonLog extends Formatter {
  /** Sets the format of java.util.logging on standard error, unless it has settings or handlers of its own. */
  static void install() {
    boolean configured = System.getProperty("java.util.logging.config.file") != null || System.getProperty("java.util.logging.config.class") != null;
    Logger root = LogManager.getLogManager().getLogger("");
    if (configured || root == null) {
      return;
    }
    for (var handler : root.getHandlers()) {
      if (handler instanceof ConsoleHandler) {
        handler.setFormatter(new JsonLog());
      }
    }
  }

  /** The usual name of a level of java.util.logging. */
  private static String level(int value) {
    return value >= 1000 ? "ERROR" : value >= 900 ? "WARN" : value >= 800 ? "INFO" : "DEBUG";
  }

  @Override
  public String format(LogRecord record) {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("time", record.getInstant().toString());
    out.put("level", level(record.getLevel().intValue()));
    out.put("msg", formatMessage(record));
    out.put("logger", record.getLoggerName());
    if (record.getThrown() != null) {
      StringWriter stack = new StringWriter();
      record.getThrown().printStackTrace(new PrintWriter(stack));
      out.put("stack", stack.toString());
    }
    return Json.encode(out) + "\n";
  }
}
