package io.mcpedge.capability;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.mcpedge.v1.*;
import io.mcpedge.v1.Tool;

/** The contract's ToolService over a Capability. */
final class ToolService extends ToolServiceGrpc.ToolServiceImplBase {
  private final Capability s;
  private final Rounds rounds;

  ToolService(Capability capability, Rounds rounds) {
    s = capability;
    this.rounds = rounds;
  }

  @Override
  public void listTools(ListToolsRequest request, StreamObserver<ListToolsResponse> to) {
    rounds.list("list of tools", to, ListToolsResponse.getDefaultInstance(), call -> {
      var page = Page.of(s.tools.all().stream().map(Tools.Entry::listed).toList(), Tool::getName, request.getPageToken(), request.getPageSize());
      var out = ListToolsResponse.newBuilder().addAllTools(page.items()).setNextPageToken(page.next());
      return (s.listCache == null ? out : out.setCache(s.listCache)).build();
    });
  }

  @Override
  public void callTool(CallToolRequest request, StreamObserver<CallToolResponse> to) {
    rounds.stream("tool " + request.getName(), request.getContext(), request.getInputResponsesList(), request.getState(), to,
        CallToolResponse.getDefaultInstance(), call -> {
          CallToolResult result = run(s.tools.find(request.getName()), call, request.getArgumentsJson());
          return result.getMetaJson().isEmpty() ? result.toBuilder().setMetaJson(call.metaJson()).build() : result;
        }, Tools::plain);
  }

  /** Runs a tool. A NOT_FOUND of its handler becomes a tool error, because the tool itself exists. */
  private static CallToolResult run(Tools.Entry tool, Call call, String arguments) throws Exception {
    try {
      return tool.body().run(call, arguments);
    } catch (Exception e) {
      String missing = Rounds.notFound(e);
      if (missing == null) {
        throw e;
      }
      return Result.error(missing).wire();
    }
  }

  @Override
  public void cancelCall(CancelCallRequest request, StreamObserver<CancelCallResponse> to) {
    var handler = s.cancels.get(request.getName());
    rounds.unary("cancellation of tool " + request.getName(), request.getContext(), handler == null ? ByteString.EMPTY : request.getState(), to,
        CancelCallResponse.getDefaultInstance(), call -> {
          if (handler != null) {
            handler.cancelled(call);
          }
          return CancelCallResponse.getDefaultInstance();
        });
  }

  @Override
  public void watchTools(WatchToolsRequest request, StreamObserver<WatchToolsResponse> to) {
    s.toolFeed.serve("", to, WatchToolsResponse.newBuilder().setStarted(WatchStarted.getDefaultInstance()).build(),
        uri -> WatchToolsResponse.newBuilder().setChanged(ListChanged.getDefaultInstance()).build(), Feed.Holding.NONE);
  }
}
