package io.mcpedge.capability;

import io.grpc.stub.StreamObserver;
import io.mcpedge.v1.*;

/** The contract's BackendService over a Capability. */
final class BackendService extends BackendServiceGrpc.BackendServiceImplBase {
  private final Capability s;

  BackendService(Capability capability) {
    s = capability;
  }

  /** A kind is announced when it has an entry, or was announced from the beginning. */
  @Override
  public void describe(DescribeRequest request, StreamObserver<DescribeResponse> to) {
    var out = DescribeResponse.newBuilder().setImplementation(s.info).setInstructions(s.instructions).putAllExtensionsJson(s.extensions);
    if (s.announced || !s.tools.all().isEmpty()) {
      out.setTools(ToolFeatures.newBuilder().setListChanged(true));
    }
    if (s.announced || !s.resources.all().isEmpty() || !s.templates.all().isEmpty() || !s.providers.isEmpty()) {
      var skills = s.providers.stream().filter(p -> p.provider instanceof SkillProvider).toList();
      boolean directories = !skills.isEmpty() && skills.stream().allMatch(p -> p.provider instanceof DirectoryProvider);
      boolean completion = s.templates.all().stream().anyMatch(t -> !t.completers().isEmpty());
      out.setResources(ResourceFeatures.newBuilder().setListChanged(true).setSubscribe(true).setCompletion(completion).setDirectories(directories)
          .addAllUriPrefixes(s.providers.stream().map(p -> p.prefix).toList()));
    }
    if (s.announced || !s.prompts.all().isEmpty()) {
      boolean completion = s.prompts.all().stream().anyMatch(p -> !p.completers().isEmpty());
      out.setPrompts(PromptFeatures.newBuilder().setListChanged(true).setCompletion(completion));
    }
    to.onNext(out.build());
    to.onCompleted();
  }
}
