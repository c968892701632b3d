package io.mcpedge.capability;

import io.mcpedge.v1.CallToolResult;
import io.mcpedge.v1.ContentBlock;
import io.mcpedge.v1.CreateMessage;
import io.mcpedge.v1.CreateMessageResult;
import io.mcpedge.v1.GetPromptResult;
import io.mcpedge.v1.ReadResourceResult;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Converts the messages of the contract to the types of this package: the opposite of Wire. */
final class Unwire {
  private Unwire() {}

  static Role role(io.mcpedge.v1.Role role) {
    return role == io.mcpedge.v1.Role.ROLE_ASSISTANT ? Role.ASSISTANT : Role.USER;
  }

  private static List<Icon> icons(List<io.mcpedge.v1.Icon> icons) {
    return icons.stream().map(i -> new Icon(i.getSrc(), i.getMimeType(), i.getSizesList(), i.getTheme())).toList();
  }

  private static Annotations annotations(io.mcpedge.v1.Annotations a) {
    return new Annotations(a.getAudienceList().stream().map(Unwire::role).toList(), a.hasPriority() ? a.getPriority() : null, a.getLastModified());
  }

  static Content content(ContentBlock block) {
    Annotations annotations = block.hasAnnotations() ? annotations(block.getAnnotations()) : null;
    Map<String, Object> meta = Wire.object(block.getMetaJson());
    return switch (block.getContentCase()) {
      case IMAGE -> new ImageContent(block.getImage().getData().toByteArray(), block.getImage().getMimeType(), annotations, meta);
      case AUDIO -> new AudioContent(block.getAudio().getData().toByteArray(), block.getAudio().getMimeType(), annotations, meta);
      case RESOURCE_LINK -> new ResourceLink(resource(block.getResourceLink()));
      case RESOURCE -> new EmbeddedResource(contents(block.getResource()), annotations, meta);
      case RAW_JSON -> new RawContent(new RawJson(block.getRawJson()));
      default -> new TextContent(block.getText().getText(), annotations, meta);
    };
  }

  static Resource resource(io.mcpedge.v1.Resource r) {
    return new Resource(r.getUri(), r.getName(), r.getTitle(), r.getDescription(), r.getMimeType(), r.hasSize() ? r.getSize() : null,
        r.hasAnnotations() ? annotations(r.getAnnotations()) : null, icons(r.getIconsList()), Wire.object(r.getMetaJson()));
  }

  static ResourceContents contents(io.mcpedge.v1.ResourceContents c) {
    Map<String, Object> meta = Wire.object(c.getMetaJson());
    return c.getBodyCase() == io.mcpedge.v1.ResourceContents.BodyCase.BLOB
        ? new BlobResourceContents(c.getUri(), c.getMimeType(), c.getBlob().toByteArray(), meta)
        : new TextResourceContents(c.getUri(), c.getMimeType(), c.getText(), meta);
  }

  static Result result(CallToolResult result) {
    Object structured = result.getStructuredContentJson().isEmpty() ? null : new RawJson(result.getStructuredContentJson());
    return new Result(result.getContentList().stream().map(Unwire::content).toList(), structured, result.getIsError(), Wire.object(result.getMetaJson()));
  }

  static ReadResult read(ReadResourceResult result) {
    return new ReadResult(result.getContentsList().stream().map(Unwire::contents).toList(), Wire.object(result.getMetaJson()));
  }

  static PromptResult prompt(GetPromptResult result) {
    var messages = result.getMessagesList().stream().map(m -> new PromptMessage(role(m.getRole()), content(m.getContent()))).toList();
    return new PromptResult(result.getDescription(), messages, Wire.object(result.getMetaJson()));
  }

  static SamplingContent sampling(io.mcpedge.v1.SamplingContent block) {
    Annotations annotations = block.hasAnnotations() ? annotations(block.getAnnotations()) : null;
    Map<String, Object> meta = Wire.object(block.getMetaJson());
    return switch (block.getContentCase()) {
      case IMAGE -> new ImageContent(block.getImage().getData().toByteArray(), block.getImage().getMimeType(), annotations, meta);
      case AUDIO -> new AudioContent(block.getAudio().getData().toByteArray(), block.getAudio().getMimeType(), annotations, meta);
      case TOOL_USE -> new ToolUse(block.getToolUse().getId(), block.getToolUse().getName(), rawOrNull(block.getToolUse().getInputJson()));
      case TOOL_RESULT -> new ToolResult(block.getToolResult().getToolUseId(), block.getToolResult().getContentList().stream().map(Unwire::content).toList(),
          rawOrNull(block.getToolResult().getStructuredContentJson()), block.getToolResult().getIsError());
      case RAW_JSON -> new RawContent(new RawJson(block.getRawJson()));
      default -> new TextContent(block.getText().getText(), annotations, meta);
    };
  }

  private static RawJson rawOrNull(String json) {
    return json.isEmpty() ? null : new RawJson(json);
  }

  static SamplingResult sampled(CreateMessageResult r) {
    return new SamplingResult(role(r.getRole()), r.getContentList().stream().map(Unwire::sampling).toList(), r.getModel(), r.getStopReason(),
        Wire.object(r.getMetaJson()));
  }

  static SamplingRequest sampling(CreateMessage r) {
    var messages = r.getMessagesList().stream()
        .map(m -> new SamplingMessage(role(m.getRole()), m.getContentList().stream().map(Unwire::sampling).toList(), Wire.object(m.getMetaJson()))).toList();
    var p = r.getModelPreferences();
    ModelPreferences preferences = r.hasModelPreferences() ? new ModelPreferences(p.getHintsList(), p.hasCostPriority() ? p.getCostPriority() : null,
        p.hasSpeedPriority() ? p.getSpeedPriority() : null, p.hasIntelligencePriority() ? p.getIntelligencePriority() : null) : null;
    var tools = r.getToolsList().stream().map(t -> new Tool(t.getName(), t.getTitle(), t.getDescription(), t.getInputSchemaJson(), t.getOutputSchemaJson(),
        icons(t.getIconsList()), Wire.object(t.getMetaJson()))).toList();
    return new SamplingRequest(messages, r.getMaxTokens(), r.getSystemPrompt(), r.hasTemperature() ? r.getTemperature() : null, r.getStopSequencesList(),
        preferences, r.getIncludeContext(), tools, r.getToolChoiceMode(), Wire.object(r.getMetadataJson()), Wire.object(r.getMetaJson()));
  }

  static Root root(io.mcpedge.v1.Root root) {
    return new Root(root.getUri(), root.getName(), Wire.object(root.getMetaJson()));
  }

  static Implementation implementation(io.mcpedge.v1.Implementation i) {
    return new Implementation(i.getName(), i.getVersion(), i.getTitle(), i.getDescription(), i.getWebsiteUrl(), icons(i.getIconsList()));
  }

  static Principal principal(io.mcpedge.v1.Principal p) {
    return new Principal(p.getSubject(), p.getIssuer(), p.getScopesList(), p.getRolesList(), p.getClientId(), p.getActor(), p.getSubjectIsClient(),
        raws(p.getClaimsJsonMap()));
  }

  static ClientCapabilities capabilities(io.mcpedge.v1.ClientCapabilities c) {
    return new ClientCapabilities(c.getElicitation().getForm(), c.getElicitation().getUrl(), c.hasSampling(), c.getSampling().getTools(), c.hasRoots(),
        raws(c.getExtensionsJsonMap()));
  }

  private static Map<String, RawJson> raws(Map<String, String> texts) {
    Map<String, RawJson> out = new LinkedHashMap<>();
    texts.forEach((name, text) -> out.put(name, new RawJson(text)));
    return out;
  }

  static Failure failure(io.mcpedge.v1.Failure f) {
    Object data = f.getDataJson().isEmpty() ? null : new RawJson(f.getDataJson());
    return new Failure(Reason.of(f.getReason()), f.getMessage(), data, f.getScopesList());
  }
}
