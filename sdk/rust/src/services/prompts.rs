//! PromptService.

use super::work::{Message, Round};
use super::{Service, Streaming, Unary, feed};
use crate::Call;
use crate::contract::prompt_service_server::PromptService;
use crate::contract::watch_prompts_response::Event;
use crate::contract::*;
use crate::failure::{Failure, internal};
use crate::page::page;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, async_trait};

#[async_trait]
impl PromptService for Service {
    type GetPromptStream = BoxStream<GetPromptResponse>;
    type WatchPromptsStream = BoxStream<WatchPromptsResponse>;

    async fn list_prompts(&self, request: Request<ListPromptsRequest>) -> Unary<ListPromptsResponse> {
        let r = request.into_inner();
        let all = self.0.offers.prompts.all();
        let (prompts, next_page_token) = page(&all, |p| &p.listed, |p| &p.name, &r.page_token, r.page_size)?;
        Ok(Response::new(ListPromptsResponse { prompts, next_page_token, cache: self.0.about.list_cache }))
    }

    async fn get_prompt(&self, request: Request<GetPromptRequest>) -> Streaming<GetPromptResponse> {
        let (metadata, _, r) = request.into_parts();
        let round = Round { metadata: &metadata, context: r.context, responses: r.input_responses, state: r.state, uri: "" };
        let find = |call: &Call| (self.0.offers.prompts.find(&r.name)?.run)(call.clone(), &r.arguments);
        self.work(format!("prompt {}", r.name), round, find, |e| Err(internal(e))).await
    }

    async fn complete_prompt(&self, request: Request<CompletePromptRequest>) -> Unary<CompletePromptResponse> {
        let (metadata, _, r) = request.into_parts();
        let prompt = self.0.offers.prompts.find(&r.name).map_err(Failure::into_status)?;
        let method = (GetPromptResponse::METHOD.0, "CompletePrompt");
        Ok(Response::new(self.complete("prompt", &prompt.completers, r, &metadata, method).await?))
    }

    async fn watch_prompts(&self, _: Request<WatchPromptsRequest>) -> Streaming<WatchPromptsResponse> {
        let event = |e| WatchPromptsResponse { event: Some(e) };
        let changed = move |_| event(Event::Changed(ListChanged {}));
        feed(self.0.offers.prompts.changes.watch(""), event(Event::Started(WatchStarted {})), changed, || async { Ok(()) })
    }
}
