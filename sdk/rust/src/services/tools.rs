//! ToolService.

use super::work::Round;
use super::{Service, Streaming, Unary, feed};
use crate::Call;
use crate::answers::Answers;
use crate::contract::tool_service_server::ToolService;
use crate::contract::watch_tools_response::Event;
use crate::contract::*;
use crate::failure::{Failure, internal};
use crate::page::page;
use crate::rounds::plainly;
use crate::tools::plain_error;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, async_trait};

#[async_trait]
impl ToolService for Service {
    type CallToolStream = BoxStream<CallToolResponse>;
    type WatchToolsStream = BoxStream<WatchToolsResponse>;

    async fn list_tools(&self, request: Request<ListToolsRequest>) -> Unary<ListToolsResponse> {
        let r = request.into_inner();
        let all = self.0.offers.tools.all();
        let (tools, next_page_token) = page(&all, |t| &t.listed, |t| &t.name, &r.page_token, r.page_size)?;
        Ok(Response::new(ListToolsResponse { tools, next_page_token, cache: self.0.about.list_cache }))
    }

    async fn call_tool(&self, request: Request<CallToolRequest>) -> Streaming<CallToolResponse> {
        let (metadata, _, r) = request.into_parts();
        let round = Round { metadata: &metadata, context: r.context, responses: r.input_responses, state: r.state, uri: "" };
        let find = |call: &Call| self.0.offers.tools.find(&r.name)?.run(call.clone(), &r.arguments_json);
        self.work(format!("tool {}", r.name), round, find, plain_error).await
    }

    async fn cancel_call(&self, request: Request<CancelCallRequest>) -> Unary<CancelCallResponse> {
        let (metadata, _, r) = request.into_parts();
        if let Some(cancel) = self.0.offers.tools.get(&r.name).and_then(|t| t.cancel.clone()) {
            let answers = Answers::new(Vec::new(), &r.state).map_err(Failure::into_status)?;
            let call = Call::new(r.context, "", None, None, answers);
            self.identify(&metadata, &call).await?;
            let what = format!("cancellation of tool {}", r.name);
            plainly(&self.0.about, &what, &call, cancel(call.clone()), internal).await?;
        }
        Ok(Response::new(CancelCallResponse {}))
    }

    async fn watch_tools(&self, _: Request<WatchToolsRequest>) -> Streaming<WatchToolsResponse> {
        let event = |e| WatchToolsResponse { event: Some(e) };
        let changed = move |_| event(Event::Changed(ListChanged {}));
        feed(self.0.offers.tools.changes.watch(""), event(Event::Started(WatchStarted {})), changed, || async { Ok(()) })
    }
}
