//! The contract's services over a Server.

mod backend;
mod prompts;
mod resources;
mod tools;
pub(crate) mod work;

use crate::Call;
use crate::answers::Answers;
use crate::completion::Completers;
use crate::contract::{CompletePromptRequest, CompletePromptResponse};
use crate::failure::{internal, quote};
use crate::feed::Watch;
use crate::rounds::plainly;
use crate::server::Server;
use opentelemetry::context::FutureExt;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::BoxStream;
use tonic::metadata::MetadataMap;
use tonic::{Response, Status};

pub(crate) type Unary<T> = Result<Response<T>, Status>;
pub(crate) type Streaming<T> = Result<Response<BoxStream<T>>, Status>;

/// The contract's services over a [`Server`]: each of their traits.
#[derive(Clone)]
pub struct Service(pub Server);

const MAX_SUGGESTIONS: usize = 100;

impl Service {
    /// Verifies the caller of work, if the server requires signed identities, and sets the principal of the call.
    #[allow(clippy::unused_async)] // without the feature `identity`
    async fn identify(&self, _metadata: &MetadataMap, _call: &Call) -> Result<(), Status> {
        #[cfg(feature = "identity")]
        if let Some(identities) = &self.0.about.identity {
            _call.set_principal(identities.verify(_metadata, _call.id()).await?);
        }
        Ok(())
    }

    /// Runs the completer of an argument; an argument without one has no suggestions. The request for a template has the fields of one for a prompt.
    async fn complete(
        &self, kind: &str, by: &Completers, r: CompletePromptRequest, metadata: &MetadataMap,
        (service, method): (&'static str, &'static str),
    ) -> Result<CompletePromptResponse, Status> {
        let Some(completer) = by.0.get(&r.argument_name) else { return Ok(CompletePromptResponse::default()) };
        let call = Call::new(r.context, "", work::deadline(metadata), None, Answers::default());
        self.identify(metadata, &call).await?;
        let values = completer(call.clone(), r.argument_value, r.context_arguments);
        let what = format!("completion of {kind} {}", quote(&r.name));
        let run = plainly(&self.0.about, &what, &call, values, internal);
        let mut values = run.with_context(crate::trace::span(service, method, metadata)).await?;
        let total = values.len();
        values.truncate(MAX_SUGGESTIONS);
        Ok(CompletePromptResponse { values, total: i32::try_from(total).ok(), has_more: total > MAX_SUGGESTIONS })
    }
}

/// Serves a change feed: the opening message, then one for each change, until the caller leaves or the feed is closed. `before` runs before
/// each of these, and its last result is dropped with the feed.
fn feed<T, F, Fut, G>(watch: Watch, opening: T, change: impl Fn(String) -> T + Send + Sync + 'static, before: F) -> Streaming<T>
where
    T: Send + 'static,
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<G, Status>> + Send,
    G: Send + 'static,
{
    let (events, stream) = mpsc::channel(1);
    tokio::spawn(async move {
        let run = async {
            let mut _held = before().await?;
            if events.send(Ok(opening)).await.is_err() {
                return Ok(());
            }
            loop {
                let changed = watch.changed().await?;
                _held = before().await?;
                for uri in changed {
                    if events.send(Ok(change(uri))).await.is_err() {
                        return Ok(());
                    }
                }
            }
        };
        let ended: Result<(), Status> = tokio::select! {
            ended = run => ended,
            () = events.closed() => Ok(()),
        };
        if let Err(status) = ended {
            // The caller may have disconnected meanwhile.
            let _ = events.send(Err(status)).await;
        }
    });
    Ok(Response::new(Box::pin(ReceiverStream::new(stream))))
}
