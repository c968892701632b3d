package io.mcpedge.capability;

import com.google.protobuf.ByteString;
import io.mcpedge.v1.ContentBlock;
import io.mcpedge.v1.CreateMessage;
import io.mcpedge.v1.CreateMessageResult;
import java.util.List;
import java.util.Map;

/** Converts the types of this package to the messages of the contract. The messages are io.mcpedge.v1. */
final class Wire {
  private Wire() {}

  /** {@code _meta} as JSON; null means empty. Throws IllegalArgumentException if it is not a JSON object. */
  static String meta(Object object) {
    if (object == null) {
      return "";
    }
    String text = Json.encode(object);
    if (!text.startsWith("{")) {
      throw new IllegalArgumentException("_meta must be a JSON object, not " + Json.quote(text));
    }
    return text;
  }

  static io.mcpedge.v1.Role role(Role role) {
    return role == Role.USER ? io.mcpedge.v1.Role.ROLE_USER : io.mcpedge.v1.Role.ROLE_ASSISTANT;
  }

  static io.mcpedge.v1.Icon icon(Icon icon) {
    return io.mcpedge.v1.Icon.newBuilder().setSrc(icon.src()).setMimeType(icon.mimeType()).addAllSizes(icon.sizes()).setTheme(icon.theme()).build();
  }

  static List<io.mcpedge.v1.Icon> icons(List<Icon> icons) {
    return icons.stream().map(Wire::icon).toList();
  }

  private static io.mcpedge.v1.Annotations annotations(Annotations annotations) {
    if (annotations == null) {
      return io.mcpedge.v1.Annotations.getDefaultInstance();
    }
    var out = io.mcpedge.v1.Annotations.newBuilder().setLastModified(annotations.lastModified());
    annotations.audience().forEach(role -> out.addAudience(role(role)));
    if (annotations.priority() != null) {
      out.setPriority(annotations.priority());
    }
    return out.build();
  }

  static ContentBlock content(Content content) {
    var out = ContentBlock.newBuilder();
    if (content instanceof TextContent text) {
      out.setText(text(text.text())).setMetaJson(meta(text.meta()));
      return annotated(out, text.annotations());
    }
    if (content instanceof ImageContent image) {
      out.setImage(image(image)).setMetaJson(meta(image.meta()));
      return annotated(out, image.annotations());
    }
    if (content instanceof AudioContent audio) {
      out.setAudio(audio(audio)).setMetaJson(meta(audio.meta()));
      return annotated(out, audio.annotations());
    }
    if (content instanceof EmbeddedResource embedded) {
      out.setResource(contents(embedded.resource())).setMetaJson(meta(embedded.meta()));
      return annotated(out, embedded.annotations());
    }
    if (content instanceof ResourceLink link) {
      return out.setResourceLink(resource(link.resource())).build();
    }
    return out.setRawJson(((RawContent) content).block().text()).build();
  }

  private static ContentBlock annotated(ContentBlock.Builder out, Annotations annotations) {
    return annotations == null ? out.build() : out.setAnnotations(annotations(annotations)).build();
  }

  private static io.mcpedge.v1.TextContent text(String text) {
    return io.mcpedge.v1.TextContent.newBuilder().setText(Json.valid(text)).build();
  }

  private static io.mcpedge.v1.ImageContent image(ImageContent image) {
    return io.mcpedge.v1.ImageContent.newBuilder().setData(ByteString.copyFrom(image.data())).setMimeType(kind("an image", image.mimeType(), "image/png")).build();
  }

  private static io.mcpedge.v1.AudioContent audio(AudioContent audio) {
    return io.mcpedge.v1.AudioContent.newBuilder().setData(ByteString.copyFrom(audio.data())).setMimeType(kind("a sound", audio.mimeType(), "audio/wav")).build();
  }

  /** Checks a MIME type. Throws Failure INTERNAL if it is invalid, such as a file extension, because hosts would not show the content. */
  private static String kind(String what, String mimeType, String example) {
    if (!mimeType.contains("/")) {
      throw new Failure(Reason.INTERNAL, what + " has the MIME type " + Json.quote(mimeType) + ", which has no slash: give one such as " + example);
    }
    return mimeType;
  }

  static io.mcpedge.v1.Resource resource(Resource resource) {
    var out = io.mcpedge.v1.Resource.newBuilder().setUri(resource.uri()).setName(resource.name()).setTitle(resource.title())
        .setDescription(resource.description()).setMimeType(resource.mimeType()).addAllIcons(icons(resource.icons())).setMetaJson(meta(resource.meta()));
    if (resource.size() != null) {
      out.setSize(resource.size());
    }
    return (resource.annotations() == null ? out : out.setAnnotations(annotations(resource.annotations()))).build();
  }

  static io.mcpedge.v1.ResourceTemplate template(ResourceTemplate template) {
    var out = io.mcpedge.v1.ResourceTemplate.newBuilder().setUriTemplate(template.uriTemplate()).setName(template.name()).setTitle(template.title())
        .setDescription(template.description()).setMimeType(template.mimeType()).addAllIcons(icons(template.icons())).setMetaJson(meta(template.meta()));
    return (template.annotations() == null ? out : out.setAnnotations(annotations(template.annotations()))).build();
  }

  static io.mcpedge.v1.ResourceContents contents(ResourceContents contents) {
    var out = io.mcpedge.v1.ResourceContents.newBuilder().setUri(contents.uri()).setMimeType(contents.mimeType()).setMetaJson(meta(contents.meta()));
    if (contents instanceof BlobResourceContents blob) {
      return out.setBlob(ByteString.copyFrom(blob.blob())).build();
    }
    return out.setText(Json.valid(contents.text())).build();
  }

  static io.mcpedge.v1.PromptMessage message(PromptMessage message) {
    return io.mcpedge.v1.PromptMessage.newBuilder().setRole(role(message.role())).setContent(content(message.content())).build();
  }

  static io.mcpedge.v1.Prompt prompt(Prompt prompt) {
    var out = io.mcpedge.v1.Prompt.newBuilder().setName(prompt.name()).setTitle(prompt.title()).setDescription(prompt.description())
        .addAllIcons(icons(prompt.icons())).setMetaJson(meta(prompt.meta()));
    prompt.arguments().forEach(a -> out.addArguments(io.mcpedge.v1.PromptArgument.newBuilder().setName(a.name()).setTitle(a.title())
        .setDescription(a.description()).setRequired(a.required())));
    return out.build();
  }

  static io.mcpedge.v1.Tool tool(Tool tool) {
    return io.mcpedge.v1.Tool.newBuilder().setName(tool.name()).setTitle(tool.title()).setDescription(tool.description())
        .setInputSchemaJson(tool.inputSchema()).setOutputSchemaJson(tool.outputSchema()).addAllIcons(icons(tool.icons())).setMetaJson(meta(tool.meta()))
        .build();
  }

  static io.mcpedge.v1.SamplingContent sampling(SamplingContent content) {
    var out = io.mcpedge.v1.SamplingContent.newBuilder();
    if (content instanceof TextContent text) {
      return annotated(out.setText(text(text.text())).setMetaJson(meta(text.meta())), text.annotations());
    }
    if (content instanceof ImageContent image) {
      return annotated(out.setImage(image(image)).setMetaJson(meta(image.meta())), image.annotations());
    }
    if (content instanceof AudioContent audio) {
      return annotated(out.setAudio(audio(audio)).setMetaJson(meta(audio.meta())), audio.annotations());
    }
    if (content instanceof ToolUse use) {
      return out.setToolUse(io.mcpedge.v1.ToolUse.newBuilder().setId(use.id()).setName(use.name()).setInputJson(use.input().text())).build();
    }
    if (content instanceof ToolResult result) {
      var wire = io.mcpedge.v1.ToolResult.newBuilder().setToolUseId(result.toolUseId()).setIsError(result.isError())
          .addAllContent(result.content().stream().map(Wire::content).toList());
      return out.setToolResult(result.structuredContent() == null ? wire : wire.setStructuredContentJson(Json.encode(result.structuredContent()))).build();
    }
    return out.setRawJson(((RawContent) content).block().text()).build();
  }

  private static io.mcpedge.v1.SamplingContent annotated(io.mcpedge.v1.SamplingContent.Builder out, Annotations annotations) {
    return annotations == null ? out.build() : out.setAnnotations(annotations(annotations)).build();
  }

  static CreateMessage sampling(SamplingRequest request) {
    var out = CreateMessage.newBuilder().setMaxTokens(request.maxTokens()).setSystemPrompt(request.systemPrompt())
        .addAllStopSequences(request.stopSequences()).setIncludeContext(request.includeContext()).setToolChoiceMode(request.toolChoiceMode())
        .addAllTools(request.tools().stream().map(Wire::tool).toList()).setMetadataJson(meta(request.metadata())).setMetaJson(meta(request.meta()));
    request.messages().forEach(m -> out.addMessages(io.mcpedge.v1.SamplingMessage.newBuilder().setRole(role(m.role()))
        .addAllContent(m.content().stream().map(Wire::sampling).toList()).setMetaJson(meta(m.meta()))));
    if (request.temperature() != null) {
      out.setTemperature(request.temperature());
    }
    if (request.modelPreferences() != null) {
      out.setModelPreferences(preferences(request.modelPreferences()));
    }
    return out.build();
  }

  private static io.mcpedge.v1.ModelPreferences preferences(ModelPreferences preferences) {
    var out = io.mcpedge.v1.ModelPreferences.newBuilder().addAllHints(preferences.hints());
    if (preferences.costPriority() != null) {
      out.setCostPriority(preferences.costPriority());
    }
    if (preferences.speedPriority() != null) {
      out.setSpeedPriority(preferences.speedPriority());
    }
    if (preferences.intelligencePriority() != null) {
      out.setIntelligencePriority(preferences.intelligencePriority());
    }
    return out.build();
  }

  static CreateMessageResult sampled(SamplingResult result) {
    return CreateMessageResult.newBuilder().setRole(role(result.role())).addAllContent(result.content().stream().map(Wire::sampling).toList())
        .setModel(result.model()).setStopReason(result.stopReason()).setMetaJson(meta(result.meta())).build();
  }

  static io.mcpedge.v1.Skill skill(Skill skill) {
    var out = io.mcpedge.v1.Skill.newBuilder().setUri(skill.uri()).setFrontmatterJson(skill.frontmatter().text()).setDynamic(skill.dynamic());
    skill.files().forEach(f -> out.addFiles(io.mcpedge.v1.SkillFile.newBuilder().setUri(f.uri()).setSha256(ByteString.copyFrom(f.sha256()))
        .setSize(f.size())));
    return out.build();
  }

  static io.mcpedge.v1.Root root(Root root) {
    return io.mcpedge.v1.Root.newBuilder().setUri(root.uri()).setName(root.name()).setMetaJson(meta(root.meta())).build();
  }

  static io.mcpedge.v1.Implementation implementation(Implementation info) {
    return io.mcpedge.v1.Implementation.newBuilder().setName(info.name()).setVersion(info.version()).setTitle(info.title())
        .setDescription(info.description()).setWebsiteUrl(info.websiteUrl()).addAllIcons(icons(info.icons())).build();
  }

  static io.mcpedge.v1.Principal principal(Principal principal) {
    var out = io.mcpedge.v1.Principal.newBuilder().setSubject(principal.subject()).setIssuer(principal.issuer()).addAllScopes(principal.scopes())
        .addAllRoles(principal.roles()).setClientId(principal.clientId()).setActor(principal.actor()).setSubjectIsClient(principal.subjectIsClient());
    principal.claims().forEach((name, claim) -> out.putClaimsJson(name, claim.text()));
    return out.build();
  }

  static io.mcpedge.v1.ClientCapabilities capabilities(ClientCapabilities can) {
    var out = io.mcpedge.v1.ClientCapabilities.newBuilder();
    can.extensions().forEach((id, settings) -> out.putExtensionsJson(id, settings.text()));
    if (can.form() || can.url()) {
      out.setElicitation(io.mcpedge.v1.ElicitationCapability.newBuilder().setForm(can.form()).setUrl(can.url()));
    }
    if (can.sampling()) {
      out.setSampling(io.mcpedge.v1.SamplingCapability.newBuilder().setContext(true).setTools(can.samplingTools()));
    }
    if (can.roots()) {
      out.setRoots(io.mcpedge.v1.RootsCapability.getDefaultInstance());
    }
    return out.build();
  }

  static Map<String, Object> object(String json) {
    @SuppressWarnings("unchecked") // an object of JSON
    Map<String, Object> map = json.isEmpty() ? null : Json.decode(json, Map.class);
    return map;
  }
}
