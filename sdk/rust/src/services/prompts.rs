//! PromptService.

use super::work::{Message, Round};
use super::{Service, Streaming, Typed, Unary, feed};
use crate::Call;
use crate::contract::prompt_service_server::PromptService;
use crate::contract::watch_prompts_response::Event;
use crate::contract::*;
use crate::failure::{Failure, Reason, internal, quote};
use crate::page::page;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, async_trait};

fn unknown(name: &str) -> Failure {
    Failure::new(Reason::NotFound, format!("there is no prompt {}", quote(name)))
}

#[async_trait]
impl PromptService for Service {
    type GetPromptStream = BoxStream<GetPromptResponse>;
    type WatchPromptsStream = BoxStream<WatchPromptsResponse>;

    async fn list_prompts(&self, request: Request<ListPromptsRequest>) -> Unary<ListPromptsResponse> {
        let r = request.into_inner();
        let all = self.0.offers.prompts.all();
        let all: Vec<&Prompt> = all.iter().map(|p| &p.listed).collect();
        let (prompts, next_page_token) = page(&all, |p| &p.name, &r.page_token, r.page_size)?;
        Ok(Response::new(ListPromptsResponse { prompts, next_page_token, cache: self.0.about.list_cache }))
    }

    async fn get_prompt(&self, request: Request<GetPromptRequest>) -> Streaming<GetPromptResponse> {
        let (metadata, _, r) = request.into_parts();
        let round = Round { metadata: &metadata, context: r.context, responses: r.input_responses, state: r.state, uri: "" };
        let find = |call: &Call| match self.0.offers.prompts.get(&r.name) {
            Some(prompt) => (prompt.run)(call.clone(), &r.arguments),
            None => Err(unknown(&r.name)),
        };
        self.work(format!("prompt {}", r.name), round, find, |e| Err(internal(e)))
    }

    async fn complete_prompt(&self, request: Request<CompletePromptRequest>) -> Unary<CompletePromptResponse> {
        let (metadata, _, r) = request.into_parts();
        let prompt = self.0.offers.prompts.get(&r.name).ok_or_else(|| unknown(&r.name).into_status())?;
        let typed = Typed { argument: r.argument_name, value: r.argument_value, chosen: r.context_arguments };
        let (what, method) = (format!("prompt {}", r.name), (GetPromptResponse::METHOD.0, "CompletePrompt"));
        let run = self.complete(&what, &prompt.completers, typed, r.context, &metadata, method);
        let (values, total, has_more) = run.await?;
        Ok(Response::new(CompletePromptResponse { values, total, has_more }))
    }

    async fn watch_prompts(&self, _: Request<WatchPromptsRequest>) -> Streaming<WatchPromptsResponse> {
        let event = |e| WatchPromptsResponse { event: Some(e) };
        let changed = move |_| event(Event::Changed(ListChanged {}));
        feed(self.0.offers.prompts.changes.watch(""), event(Event::Started(WatchStarted {})), changed, || async { Ok(()) })
    }
}
