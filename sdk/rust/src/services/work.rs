//! The rounds of tools, reads and prompts on their streams.

use super::{Service, Streaming};
use crate::Call;
use crate::answers::Answers;
use crate::contract::{
    self, CallToolResponse, GetPromptResponse, InputResponse, ReadResourceResponse, ReadResourceResult, RequestContext, call_tool_response,
    get_prompt_response, prompt_service_server, read_resource_response, resource_service_server, tool_service_server,
};
use crate::events::{Event, Events};
use crate::failure::{Error, Failure};
use crate::handler::Work;
use crate::prompts::GetPromptResult;
use crate::rounds::{Outcome, run};
use crate::serve::MESSAGE_BYTES;
use crate::tools::CallToolResult;
use crate::types::ResourceContents;
use opentelemetry::KeyValue;
use opentelemetry::context::FutureExt;
use opentelemetry::trace::TraceContextExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_stream::Stream;
use tonic::metadata::MetadataMap;
use tonic::{Response, Status};

/// A message of a stream of work.
pub(crate) trait Message: prost::Message + Sized + Unpin + 'static {
    /// The result of a handler.
    type Result: Send + 'static;
    const METHOD: (&'static str, &'static str);
    /// Converts an event; `None` if the stream has no such event.
    fn event(event: Event) -> Option<Self>;
    fn result(result: Self::Result, call: &Call) -> Self;
    fn input_required(required: contract::InputRequired) -> Self;
    fn failure(failure: contract::Failure) -> Self;
}

macro_rules! message {
    ($response:ident of $service:ident, $method:literal, in $module:ident { $($event:ident)+ }, |$result:ident: $type:ty, $call:ident| $sent:expr) => {
        impl Message for $response {
            type Result = $type;
            const METHOD: (&'static str, &'static str) = ($service::SERVICE_NAME, $method);

            fn event(event: Event) -> Option<Self> {
                match event {
                    $(Event::$event(e) => Some(Self { message: Some($module::Message::$event(e)) }),)+
                    #[allow(unreachable_patterns)]
                    _ => None,
                }
            }

            fn result($result: $type, $call: &Call) -> Self {
                Self { message: Some($module::Message::Result($sent)) }
            }

            fn input_required(required: contract::InputRequired) -> Self {
                Self { message: Some($module::Message::InputRequired(required)) }
            }

            fn failure(failure: contract::Failure) -> Self {
                Self { message: Some($module::Message::Failure(failure)) }
            }
        }
    };
}

message! {
    CallToolResponse of tool_service_server, "CallTool", in call_tool_response { Progress Log Defer Checkpoint },
    |result: CallToolResult, call| CallToolResult { meta: call.result_meta(result.meta), ..result }.into_wire()
}

message! {
    GetPromptResponse of prompt_service_server, "GetPrompt", in get_prompt_response { Progress Log },
    |result: GetPromptResult, call| GetPromptResult { meta: call.result_meta(result.meta), ..result }.into_wire()
}

message! {
    ReadResourceResponse of resource_service_server, "ReadResource", in read_resource_response { Progress Log },
    |contents: Vec<ResourceContents>, call| {
        let cache = call.memory().cache;
        let contents = contents.into_iter().map(ResourceContents::into_wire).collect();
        ReadResourceResult { contents, cache, meta_json: call.result_meta(None).map(|m| m.to_string()).unwrap_or_default() }
    }
}

/// The request of one round.
pub(crate) struct Round<'a> {
    pub metadata: &'a MetadataMap,
    pub context: Option<RequestContext>,
    pub responses: Vec<InputResponse>,
    pub state: Vec<u8>,
    /// The URI of a read.
    pub uri: &'a str,
}

impl Service {
    /// Runs one round in a separate task, which ends with the stream. `what` names it, as `tool greet`; `find` returns the work.
    pub(crate) async fn work<M: Message>(
        &self, what: String, round: Round<'_>, find: impl FnOnce(&Call) -> Result<Work<M::Result>, Failure> + Send,
        plain: impl FnOnce(Error) -> Result<M::Result, Failure> + Send + 'static,
    ) -> Streaming<M> {
        let events = Arc::new(Events::default());
        let (service, method) = M::METHOD;
        let span = crate::trace::span(service, method, round.metadata);
        let (answers, invalid) = match Answers::new(round.responses, &round.state) {
            Ok(answers) => (answers, None),
            Err(failure) => (Answers::default(), Some(failure)),
        };
        let call = Call::new(round.context, round.uri, deadline(round.metadata), Some(events.clone()), answers);
        self.identify(round.metadata, &call).await?;
        let work = match invalid.map_or_else(|| find(&call), Err) {
            Ok(work) => work,
            Err(failure) => {
                let message = M::failure(failure.into_wire());
                return Ok(Response::new(Box::pin(tokio_stream::once(Ok(message)))));
            }
        };
        let (about, own) = (self.0.about.clone(), call.clone());
        let closing = events.clone();
        let task = async move {
            let whole = run(&about, &what, &own, work, plain);
            let outcome = match own.deadline() {
                None => whole.await,
                Some(deadline) => timeout_at(deadline, whole).await.unwrap_or_else(|_| {
                    own.cancel();
                    Outcome::Status(Status::deadline_exceeded(format!("{what} did not end before its deadline")))
                }),
            };
            closing.close();
            fits(&what, message(outcome, &own)?)
        };
        let task = tokio::spawn(task.with_context(span));
        Ok(Response::new(Box::pin(WorkStream { events, call, task, outcome: None, ended: false })))
    }
}

fn message<M: Message>(outcome: Outcome<M::Result>, call: &Call) -> Result<M, Status> {
    match outcome {
        Outcome::Result(result) => Ok(M::result(result, call)),
        Outcome::InputRequired(required) => Ok(M::input_required(required)),
        Outcome::Failure(failure) => {
            let failure = failure.into_wire();
            let reason = failure.reason().as_str_name();
            opentelemetry::Context::current().span().set_attribute(KeyValue::new("mcpedge.failure", reason));
            Ok(M::failure(failure))
        }
        Outcome::Status(status) => Err(status),
    }
}

/// Refuses a message that is too large to send: tonic would end the RPC with OUT_OF_RANGE, which the edge reports to the model. The text is
/// that of other implementations of gRPC, by which the edge recognizes it.
fn fits<M: prost::Message>(what: &str, message: M) -> Result<M, Status> {
    let size = message.encoded_len();
    if size > MESSAGE_BYTES {
        let why = format!("Sent message larger than max ({size} vs. {MESSAGE_BYTES}): {what}");
        return Err(Status::resource_exhausted(why));
    }
    Ok(message)
}

/// The deadline of an RPC, by its metadata.
pub(crate) fn deadline(metadata: &MetadataMap) -> Option<Instant> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (amount, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let amount: u64 = amount.parse().ok()?;
    let timeout = match unit {
        "H" => Duration::from_secs(amount.saturating_mul(3600)),
        "M" => Duration::from_secs(amount.saturating_mul(60)),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        _ => Duration::from_nanos(amount),
    };
    Instant::now().checked_add(timeout)
}

/// The events of a round in order, then its outcome. Dropping it ends the round.
struct WorkStream<M> {
    events: Arc<Events>,
    call: Call,
    task: JoinHandle<Result<M, Status>>,
    outcome: Option<Result<M, Status>>,
    ended: bool,
}

impl<M: Message> Stream for WorkStream<M> {
    type Item = Result<M, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            while let Some(event) = self.events.next(cx.waker()) {
                if let Some(message) = M::event(event) {
                    return Poll::Ready(Some(Ok(message)));
                }
            }
            if self.ended || self.outcome.is_some() {
                self.ended = true;
                return Poll::Ready(self.outcome.take());
            }
            let Poll::Ready(ended) = Pin::new(&mut self.task).poll(cx) else { return Poll::Pending };
            // Events before the end are still to be read.
            self.outcome = Some(ended.unwrap_or_else(|_| Err(Status::internal("a fault of the service"))));
        }
    }
}

impl<M> Drop for WorkStream<M> {
    fn drop(&mut self) {
        self.task.abort();
        if !self.ended {
            self.call.cancel();
        }
    }
}
