package io.mcpedge.capability;

import java.util.Map;

/** Reads what a URI template describes. */
@FunctionalInterface
public interface TemplateHandler {
  /** Returns as {@link ResourceHandler}; the variables are decoded, and those that the URI has not are missing. */
  Object read(Call call, Map<String, String> variables) throws Exception;
}
