package io.mcpedge.capability;

import io.mcpedge.v1.LogLevel;
import java.util.Locale;

/** The severity of a log message, by RFC 5424, least severe first. MCP: LoggingLevel. */
public enum Level {
  DEBUG,
  INFO,
  NOTICE,
  WARNING,
  ERROR,
  CRITICAL,
  ALERT,
  EMERGENCY;

  /** Returns the name in MCP, in lower case. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }

  LogLevel wire() {
    return LogLevel.forNumber(ordinal() + 1);
  }
}
