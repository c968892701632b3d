package io.mcpedge.capability;

import java.util.Map;

/** Reads the resources of a URI template. */
@FunctionalInterface
public interface TemplateHandler {
  /** Returns as {@link ResourceHandler}; the variables are decoded, and variables that the URI does not have are missing. */
  Object read(Call call, Map<String, String> variables) throws Exception;
}
