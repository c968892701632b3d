package io.mcpedge.capability;

import java.util.Map;

/** Reads the resources of a URI template. */
@FunctionalInterface
public interface TemplateHandler {
  /** Returns contents as {@link ResourceHandler} does. The variables are decoded; those that the URI omits are absent. */
  Object read(Call call, Map<String, String> variables) throws Exception;
}
