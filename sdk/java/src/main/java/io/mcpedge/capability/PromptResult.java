package io.mcpedge.capability;

import java.util.List;
import java.util.Map;

/**
 * A complete prompt. MCP: GetPromptResult.
 *
 * @param description empty means that of the prompt
 * @param meta {@code _meta}; null means that of {@link Call#setMeta}
 */
public record PromptResult(String description, List<PromptMessage> messages, Map<String, Object> meta) {
  public PromptResult {
    description = Texts.orEmpty(description);
    messages = List.copyOf(messages);
  }

  public PromptResult(String description, List<PromptMessage> messages) {
    this(description, messages, null);
  }
}
