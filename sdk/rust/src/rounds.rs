//! Runs a handler for one round, and sorts how it ended.

use crate::Call;
use crate::answers::check_requests;
use crate::content::duration;
use crate::contract;
use crate::failure::{Error, Failure, InputRequired, Reason, cause};
use crate::handler::Work;
use crate::log::Log;
use serde_json::json;
use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use tokio::task::JoinError;
use tonic::Status;

/// How a round ended; the kinds are those of the contract's streams, and a status.
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

/// Runs one round of work with a name such as `tool greet`. `plain` makes a result of an error that says nothing of its kind. A
/// question without an answer ends the round, whatever the handler makes of it.
pub(crate) async fn run<R>(
    log: &Log, what: &str, call: &Call, mut work: Work<R>, plain: impl FnOnce(Error) -> Result<R, Failure>,
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
        Ended::Panicked(panic) => panicked(log, what, call, panic_text(&*panic)),
        Ended::Asked => {
            let requests = std::mem::take(&mut call.memory().answers.missing);
            required(call, InputRequired { requests, ..InputRequired::default() })
        }
        Ended::Returned(Ok(result)) => Outcome::Result(result),
        Ended::Returned(Err(error)) => match cause::<JoinError>(&error).filter(|e| e.is_panic()) {
            Some(panic) => panicked(log, what, call, &panic.to_string()),
            None => sorted(call, error, plain),
        },
    }
}

/// The outcome of a panic of a handler, or of a task that it waited for: its text is for the log alone.
fn panicked<R>(log: &Log, what: &str, call: &Call, panic: &str) -> Outcome<R> {
    log.error("a handler panicked", json!({"handler": what, "call": call.id(), "panic": panic}));
    Outcome::Failure(Failure::new(Reason::Internal, format!("{what} failed by a fault of the service")))
}

fn sorted<R>(call: &Call, error: Error, plain: impl FnOnce(Error) -> Result<R, Failure>) -> Outcome<R> {
    if let Some(ending) = cause::<InputRequired>(&error) {
        return required(call, ending.clone());
    }
    if let Some(failure) = cause::<Failure>(&error) {
        return Outcome::Failure(failure.clone());
    }
    if let Some(status) = cause::<Status>(&error) {
        return Outcome::Status(status.clone());
    }
    plain(error).map_or_else(Outcome::Failure, Outcome::Result)
}

/// The outcome that asks for what is missing, with everything needed to go on.
fn required<R>(call: &Call, ending: InputRequired) -> Outcome<R> {
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

/// Runs what has no rounds: lists, completions, watches.
pub(crate) async fn plainly<R>(
    log: &Log, what: &str, call: &Call, work: Work<R>, plain: impl FnOnce(Error) -> Failure,
) -> Result<R, Status> {
    match run(log, what, call, work, |e| Err(plain(e))).await {
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
