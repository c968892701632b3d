package io.mcpedge.capability;

import java.util.List;
import java.util.Map;

/**
 * A request to the client's model. MCP: CreateMessageRequest.
 *
 * @param maxTokens the builder's default is 1,000
 * @param systemPrompt may be empty
 * @param temperature null means the client's choice
 * @param modelPreferences may be null
 * @param includeContext none, thisServer or allServers; may be empty
 * @param tools what the model may call
 * @param toolChoiceMode auto, required or none; empty means auto
 * @param metadata for the provider of the model; may be null
 * @param meta {@code _meta}; may be null
 */
public record SamplingRequest(
    List<SamplingMessage> messages, long maxTokens, String systemPrompt, Double temperature, List<String> stopSequences,
    ModelPreferences modelPreferences, String includeContext, List<Tool> tools, String toolChoiceMode, Map<String, Object> metadata,
    Map<String, Object> meta) {
  public SamplingRequest {
    messages = messages == null ? List.of() : List.copyOf(messages);
    if (messages.isEmpty() || maxTokens < 1) {
      throw new IllegalArgumentException("a request to a model needs messages, and maxTokens of 1 or more, not " + maxTokens);
    }
    systemPrompt = Texts.orEmpty(systemPrompt);
    stopSequences = stopSequences == null ? List.of() : List.copyOf(stopSequences);
    includeContext = Texts.orEmpty(includeContext);
    tools = tools == null ? List.of() : List.copyOf(tools);
    toolChoiceMode = Texts.orEmpty(toolChoiceMode);
  }

  public static Builder builder() {
    return new Builder();
  }

  /** Sets the members of a SamplingRequest. */
  public static final class Builder {
    private List<SamplingMessage> messages;
    private long maxTokens = 1000;
    private String systemPrompt;
    private Double temperature;
    private List<String> stopSequences;
    private ModelPreferences modelPreferences;
    private String includeContext;
    private List<Tool> tools;
    private String toolChoiceMode;
    private Map<String, Object> metadata;
    private Map<String, Object> meta;

    private Builder() {}

    public Builder messages(List<SamplingMessage> messages) {
      this.messages = messages;
      return this;
    }

    public Builder messages(SamplingMessage... messages) {
      return messages(List.of(messages));
    }

    public Builder maxTokens(long maxTokens) {
      this.maxTokens = maxTokens;
      return this;
    }

    public Builder systemPrompt(String systemPrompt) {
      this.systemPrompt = systemPrompt;
      return this;
    }

    public Builder temperature(Double temperature) {
      this.temperature = temperature;
      return this;
    }

    public Builder stopSequences(List<String> stopSequences) {
      this.stopSequences = stopSequences;
      return this;
    }

    public Builder stopSequences(String... stopSequences) {
      return stopSequences(List.of(stopSequences));
    }

    public Builder modelPreferences(ModelPreferences modelPreferences) {
      this.modelPreferences = modelPreferences;
      return this;
    }

    public Builder includeContext(String includeContext) {
      this.includeContext = includeContext;
      return this;
    }

    public Builder tools(List<Tool> tools) {
      this.tools = tools;
      return this;
    }

    public Builder tools(Tool... tools) {
      return tools(List.of(tools));
    }

    public Builder toolChoiceMode(String toolChoiceMode) {
      this.toolChoiceMode = toolChoiceMode;
      return this;
    }

    public Builder metadata(Map<String, Object> metadata) {
      this.metadata = metadata;
      return this;
    }

    public Builder meta(Map<String, Object> meta) {
      this.meta = meta;
      return this;
    }

    public SamplingRequest build() {
      return new SamplingRequest(messages, maxTokens, systemPrompt, temperature, stopSequences, modelPreferences, includeContext, tools, toolChoiceMode, metadata, meta);
    }
  }
}
