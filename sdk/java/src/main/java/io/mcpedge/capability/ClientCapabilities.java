package io.mcpedge.capability;

import java.util.Map;

/**
 * The questions that a client supports. MCP: ClientCapabilities.
 *
 * @param form whether it supports {@link Call#ask} and {@link Call#askForm}
 * @param url whether it supports {@link Call#askUrl}
 * @param sampling whether it supports {@link Call#sample}
 * @param samplingTools sampling with tools
 * @param roots whether it supports {@link Call#roots}
 * @param extensions the settings of the client's extensions, by their ids
 */
public record ClientCapabilities(
    boolean form, boolean url, boolean sampling, boolean samplingTools, boolean roots, Map<String, RawJson> extensions) {
  public ClientCapabilities {
    extensions = extensions == null ? Map.of() : Map.copyOf(extensions);
  }
}
