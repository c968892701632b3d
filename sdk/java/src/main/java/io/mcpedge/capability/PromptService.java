package io.mcpedge.capability;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.mcpedge.v1.*;
import io.mcpedge.v1.Prompt;

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
    rounds.list("list of prompts", to, ListPromptsResponse.getDefaultInstance(), call -> {
      var page = Page.of(s.prompts.all().stream().map(Prompts.Entry::listed).toList(), Prompt::getName, request.getPageToken(), request.getPageSize());
      var out = ListPromptsResponse.newBuilder().addAllPrompts(page.items()).setNextPageToken(page.next());
      return (s.listCache == null ? out : out.setCache(s.listCache)).build();
    });
  }

  @Override
  public void getPrompt(GetPromptRequest request, StreamObserver<GetPromptResponse> to) {
    rounds.stream("prompt " + request.getName(), request.getContext(), request.getInputResponsesList(), request.getState(), to,
        GetPromptResponse.getDefaultInstance(), call -> {
          GetPromptResult result = s.prompts.find(request.getName()).body().run(call, request.getArgumentsMap());
          return result.getMetaJson().isEmpty() ? result.toBuilder().setMetaJson(call.metaJson()).build() : result;
        }, Rounds::failPlainly);
  }

  @Override
  public void completePrompt(CompletePromptRequest request, StreamObserver<CompletePromptResponse> to) {
    rounds.unary("completion of prompt " + request.getName(), request.getContext(), ByteString.EMPTY, to,
        CompletePromptResponse.getDefaultInstance(), call -> {
          var by = s.prompts.find(request.getName()).completers().get(request.getArgumentName());
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
