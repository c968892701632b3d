package io.mcpedge.capability.testing;

import io.mcpedge.capability.Level;
import io.mcpedge.capability.RawJson;

/** A log message that a handler sent. */
public record LogEntry(Level level, RawJson data, String logger) {}
