package io.mcpedge.capability;

import com.google.protobuf.ByteString;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.mcpedge.v1.*;

/** The contract's PromptService over a Capability. */
final class PromptService extends PromptServiceGrpc.PromptServiceImplBase {
  private final Capability s;
  private final Rounds rounds;

  PromptService(Capability capability, Rounds rounds) {
    s = capability;
    this.rounds = rounds;
  }

  @Override
  public void listPrompts(ListPromptsRequest request, StreamObserver<ListPromptsResponse> to) {
    try {
      var page = Page.of(s.prompts.all().stream().map(Prompts.Entry::listed).toList(), Prompt::getName, request.getPageToken(), request.getPageSize());
      var out = ListPromptsResponse.newBuilder().addAllPrompts(page.items()).setNextPageToken(page.next());
      to.onNext((s.listCache == null ? out : out.setCache(s.listCache)).build());
      to.onCompleted();
    } catch (StatusRuntimeException e) {
      to.onError(e);
    }
  }

  @Override
  public void getPrompt(GetPromptRequest request, StreamObserver<GetPromptResponse> to) {
    Prompts.Entry prompt = s.prompts.get(request.getName());
    rounds.stream("prompt " + request.getName(), request.getContext(), request.getInputResponsesList(), request.getState(), to,
        GetPromptResponse.getDefaultInstance(), call -> {
          if (prompt == null) {
            throw Failure.notFound("prompt", request.getName());
          }
          GetPromptResult result = prompt.body().run(call, request.getArgumentsMap());
          return result.getMetaJson().isEmpty() ? result.toBuilder().setMetaJson(call.metaJson()).build() : result;
        }, Rounds::failPlainly);
  }

  @Override
  public void completePrompt(CompletePromptRequest request, StreamObserver<CompletePromptResponse> to) {
    Prompts.Entry prompt = s.prompts.get(request.getName());
    rounds.unary("completion of prompt " + request.getName(), request.getContext(), ByteString.EMPTY, to,
        CompletePromptResponse.getDefaultInstance(), call -> {
          if (prompt == null) {
            throw Failure.notFound("prompt", request.getName());
          }
          var by = prompt.completers().get(request.getArgumentName());
          var found = Complete.run(by, call, request.getArgumentValue(), request.getContextArgumentsMap());
          return CompletePromptResponse.newBuilder().addAllValues(found.values()).setTotal(found.total()).setHasMore(found.more()).build();
        });
  }

  @Override
  public void watchPrompts(WatchPromptsRequest request, StreamObserver<WatchPromptsResponse> to) {
    s.promptFeed.serve("", to, WatchPromptsResponse.newBuilder().setStarted(WatchStarted.getDefaultInstance()).build(),
        uri -> WatchPromptsResponse.newBuilder().setChanged(ListChanged.getDefaultInstance()).build(), Feed.Holding.NONE);
  }
}
