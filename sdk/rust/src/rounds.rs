//! Runs a handler for one round, and classifies its outcome.

use crate::Call;
use crate::answers::check_requests;
use crate::content::duration;
use crate::contract;
use crate::failure::{Ending, Error, Failure, NoAnswer, Reason, cause, failure};
use crate::handler::Work;
use crate::server::About;
use serde_json::json;
use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use tokio::task::JoinError;
use tonic::Status;

/// The end of a round; the kinds are those of the contract's streams, and a status.
pub(crate) enum Outcome<R> {
    Result(R),
    InputRequired(contract::InputRequired),
    Failure(Failure),
    Status(Status),
}

enum Ended<R> {
    Returned(Result<R, Error>),
    Asked,
    Panicked(Box<dyn Any + Send>),
}

/// Runs one round of work with a name such as `tool greet`. `plain` converts an error without a reason. A question without an answer ends
/// the round, whatever the handler does with it.
pub(crate) async fn run<R>(
    about: &About, what: &str, call: &Call, mut work: Work<R>, plain: impl FnOnce(Error) -> Result<R, Failure>,
) -> Outcome<R> {
    let ended = poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
        let asks = call.asks(cx.waker());
        match polled {
            Err(panic) => Poll::Ready(Ended::Panicked(panic)),
            Ok(_) if asks => Poll::Ready(Ended::Asked),
            Ok(Poll::Ready(returned)) => Poll::Ready(Ended::Returned(returned)),
            Ok(Poll::Pending) => Poll::Pending,
        }
    });
    let ended = ended.await;
    let ended = catch_unwind(AssertUnwindSafe(|| drop(work))).map_or_else(Ended::Panicked, |()| ended);
    match ended {
        Ended::Panicked(panic) => hidden(about, what, call, "a handler panicked", panic_text(&*panic)),
        Ended::Asked => {
            let (requests, mistake) = {
                let answers = &mut call.memory().answers;
                (std::mem::take(&mut answers.missing), answers.mistake.take())
            };
            match mistake {
                Some(mistake) => Outcome::Failure(Failure::new(Reason::Internal, mistake)),
                None => required(call, Ending { requests, ..Ending::default() }),
            }
        }
        Ended::Returned(Ok(result)) => Outcome::Result(result),
        Ended::Returned(Err(error)) => match cause::<JoinError>(&error).filter(|e| e.is_panic()) {
            Some(panic) => hidden(about, what, call, "a handler panicked", &panic.to_string()),
            None => classified(about, what, call, error, plain),
        },
    }
}

/// The outcome of a panic, or of an error that `Server::mask_errors` hides: its text is only logged.
fn hidden<R>(about: &About, what: &str, call: &Call, message: &str, text: &str) -> Outcome<R> {
    about.log.error(message, json!({"handler": what, "call": call.id(), "error": text}));
    Outcome::Failure(Failure::new(Reason::Internal, format!("{what} failed by a fault of the service")))
}

fn classified<R>(about: &About, what: &str, call: &Call, error: Error, plain: impl FnOnce(Error) -> Result<R, Failure>) -> Outcome<R> {
    if let Some(ending) = cause::<Ending>(&error) {
        return required(call, ending.clone());
    }
    if let Some(failure) = failure(&error) {
        return Outcome::Failure(failure);
    }
    if let Some(status) = cause::<Status>(&error) {
        return Outcome::Status(status.clone());
    }
    let masked = about.mask_errors && cause::<NoAnswer>(&error).is_none();
    let text = if masked { error.to_string() } else { String::new() };
    match plain(error) {
        Err(failure) if !masked || failure.reason != Reason::Internal => Outcome::Failure(failure),
        Ok(result) if !masked => Outcome::Result(result),
        _ => hidden(about, what, call, "a handler failed", &text),
    }
}

/// Returns the outcome with the missing questions, and the state of the next round.
fn required<R>(call: &Call, ending: Ending) -> Outcome<R> {
    let answers = &mut call.memory().answers;
    if ending.state.is_some() {
        answers.state = ending.state;
    }
    match check_requests(&ending.requests).and_then(|()| answers.memory(false, None)) {
        Err(message) => Outcome::Failure(Failure::new(Reason::Internal, message)),
        Ok(state) => Outcome::InputRequired(contract::InputRequired {
            requests: ending.requests,
            state,
            retry_after: (!ending.retry_after.is_zero()).then(|| duration(ending.retry_after)),
            repeatable: ending.repeatable,
        }),
    }
}

/// Runs work without rounds: lists, completions, watches.
pub(crate) async fn plainly<R>(
    about: &About, what: &str, call: &Call, work: Work<R>, plain: impl FnOnce(Error) -> Failure,
) -> Result<R, Status> {
    match run(about, what, call, work, |e| Err(plain(e))).await {
        Outcome::Result(result) => Ok(result),
        Outcome::Failure(failure) => Err(failure.into_status()),
        Outcome::Status(status) => Err(status),
        Outcome::InputRequired(_) => Err(Status::internal(format!("{what} asks the client; only tools, reads and prompts can"))),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text")
}
