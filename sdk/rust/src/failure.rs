//! How a call ends without a result.

use crate::contract::InputRequest;
use crate::questions::Question;
use serde::Serialize;
use std::{error::Error as StdError, fmt, io, iter::successors, time::Duration};
use tonic::{Code, Status};

/// The reason of a failure. For a tool, the model sees `InvalidArgument`, `FailedPrecondition` and `NotFound` as a result with `isError`; all
/// others are protocol errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    InvalidArgument,
    NotFound,
    FailedPrecondition,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
    DeadlineExceeded,
    Internal,
}

/// The error of a handler: `?` converts every error, `"text".into()` a text.
///
/// For a tool, its text becomes a result with `isError`, which a model can act on; for reads, prompts and completions
/// it is INTERNAL. A [`Failure`], an [`InputRequired`] and the [`Status`] of a gRPC client keep their kind, also as the
/// source of another error. In an error that hides what it holds, as `anyhow::Error` without a context, a `Status`, an
/// `io::Error` and the panic of a task are errors without a reason.
pub type Error = Box<dyn StdError + Send + Sync>;

/// Ends a call with a reason. The message says what was wrong, with which value, and what to do.
#[derive(Clone, Debug)]
pub struct Failure {
    pub reason: Reason,
    pub message: String,
    kept: Kept,
}

/// The data of a failure without its message. It is the source of the failure, so that it is found in wrappers that show only the source of what they
/// hold, as `anyhow::Error` without a context and errors that are `transparent` in thiserror.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    reason: Reason,
    data: String,
    scopes: Vec<String>,
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        (self.reason, &self.message, self.data_json(), self.scopes()) == (other.reason, &other.message, other.data_json(), other.scopes())
    }
}

impl Eq for Failure {}

impl Failure {
    /// Returns a failure with a reason and a message for the client.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self::with(reason, message.into(), String::new(), Vec::new())
    }

    pub(crate) fn with(reason: Reason, message: String, data: String, scopes: Vec<String>) -> Self {
        Self { reason, message, kept: Kept { reason, data, scopes } }
    }

    /// Returns a failure for a caller that lacks OAuth scopes: at most 32 of at most 256 bytes. A client that gets an access
    /// token with them can call again.
    pub fn lacks_scopes<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        let message = format!("this needs the scopes {}: get an access token that has them", scopes.join(" "));
        Self::with(Reason::PermissionDenied, message, String::new(), scopes)
    }

    /// Sets the error's `data`, any JSON value. A value that has no JSON makes the failure INTERNAL.
    pub fn with_data(mut self, data: impl Serialize) -> Self {
        match serde_json::to_string(&data) {
            Ok(text) => self.kept.data = text,
            Err(e) => {
                (self.reason, self.kept.reason) = (Reason::Internal, Reason::Internal);
                self.message += &format!(" (and the failure's data is not JSON: {e})");
            }
        }
        self
    }

    /// The error's `data`; null if there is none.
    pub fn data(&self) -> serde_json::Value {
        serde_json::from_str(self.data_json()).unwrap_or_default()
    }

    pub(crate) fn data_json(&self) -> &str {
        &self.kept.data
    }

    /// The scopes of `lacks_scopes`.
    pub fn scopes(&self) -> &[String] {
        &self.kept.scopes
    }

    /// The failure as a status, for unary RPCs.
    pub(crate) fn into_status(self) -> Status {
        let code = match self.reason {
            Reason::InvalidArgument => Code::InvalidArgument,
            Reason::NotFound => Code::NotFound,
            Reason::FailedPrecondition => Code::FailedPrecondition,
            Reason::PermissionDenied => Code::PermissionDenied,
            Reason::ResourceExhausted => Code::ResourceExhausted,
            Reason::Unavailable => Code::Unavailable,
            Reason::DeadlineExceeded => Code::DeadlineExceeded,
            Reason::Internal => Code::Internal,
        };
        Status::new(code, self.message)
    }

    pub(crate) fn not_found(kind: &str, name: &str) -> Self {
        Self::new(Reason::NotFound, format!("there is no {kind} {}", quote(name)))
    }
}

/// The user did not answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The user declined.
    Declined,
    /// The user closed the question without a choice, or the client could not show it.
    Dismissed,
}

/// An outcome for handlers that manage state and answers themselves: returning it as an error ends the round. Handlers
/// that ask through the [`Call`](crate::Call) do not need it. MCP: InputRequiredResult.
#[derive(Clone, Debug, Default)]
pub struct InputRequired(Ending);

/// What is in an [`InputRequired`], and its source, for wrappers as those of [`Kept`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    pub(crate) requests: Vec<InputRequest>,
    pub(crate) state: Option<Vec<u8>>,
    pub(crate) retry_after: Duration,
    pub(crate) repeatable: bool,
}

impl InputRequired {
    /// Returns an outcome without questions: the next round comes soon.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the result of `Call::state` in the next round; without it, that of `Call::set_state` is kept.
    pub fn state(mut self, state: impl Into<Vec<u8>>) -> Self {
        self.0.state = Some(state.into());
        self
    }

    /// Without questions: sets the delay before the next round, at most an hour.
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.0.retry_after = delay;
        self
    }

    /// Allows the edge to retry the next round with the state after the loss of a replica, whatever the tool's hints
    /// are.
    pub fn repeatable(mut self) -> Self {
        self.0.repeatable = true;
        self
    }

    /// Adds a question; at most 16 are sent together. `Call::answered` returns its answer in the next round.
    pub fn ask<T>(mut self, question: &Question<T>) -> Self {
        self.0.requests.push(question.request.clone());
        self
    }
}

/// An invalid definition. The text names it, and says what to do.
#[derive(Clone)]
pub struct DefinitionError(pub(crate) String);

impl fmt::Debug for DefinitionError {
    /// Writes the text unchanged: `main` prints the error that it returns by `Debug`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The source of an [`Unanswered`], for wrappers as those of [`Kept`].
#[derive(Debug)]
pub(crate) struct NoAnswer;

macro_rules! error {
    ($($type:ty, $value:ident => $text:expr $(, |$held:pat_param| $source:expr)?;)+) => {
        $(impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $value = self;
                f.write_str(&$text)
            }
        }
        impl StdError for $type {
            $(fn source(&self) -> Option<&(dyn StdError + 'static)> {
                let $held = self;
                Some($source)
            })?
        })+
    };
}

error! {
    Failure, failure => failure.message, |failure| &failure.kept;
    Kept, kept => format!("{:?}", kept.reason);
    Unanswered, unanswered => match unanswered {
        Unanswered::Declined => "the user declined to answer",
        Unanswered::Dismissed => "the user dismissed the question",
    }, |_| &NoAnswer;
    NoAnswer, _none => "there is no answer";
    InputRequired, ending => format!("input required: {} requests", ending.0.requests.len()), |ending| &ending.0;
    Ending, _ending => "the call continues with another round";
    DefinitionError, error => error.0;
}

/// Returns an error and its sources.
fn chain(error: &Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let first: &(dyn StdError + 'static) = error.as_ref();
    // The source of an io::Error is that of the error inside it, not this error itself.
    successors(Some(first), |&e| e.downcast_ref::<io::Error>().and_then(io::Error::get_ref).map(|held| held as _).or_else(|| e.source()))
}

/// Returns the first of an error and its sources that is a T.
pub(crate) fn cause<T: StdError + 'static>(error: &Error) -> Option<&T> {
    chain(error).find_map(|e| e.downcast_ref())
}

/// Returns the failure that an error is, or has as its source.
pub(crate) fn failure(error: &Error) -> Option<Failure> {
    let mut wrapper = None;
    for e in chain(error) {
        if let Some(failure) = e.downcast_ref::<Failure>() {
            return Some(failure.clone());
        }
        if let (Some(kept), Some(wrapper)) = (e.downcast_ref::<Kept>(), wrapper) {
            // The wrapper has the text of the failure that it holds.
            return Some(Failure { reason: kept.reason, message: ToString::to_string(wrapper), kept: kept.clone() });
        }
        wrapper = Some(e);
    }
    None
}

/// The failure of reads, prompts, lists and completions by an error without a reason.
pub(crate) fn internal(error: Error) -> Failure {
    Failure::new(Reason::Internal, error.to_string())
}

/// The failure of reads by an error without a reason; those of files have one.
pub(crate) fn of_read(uri: &str, error: Error) -> Failure {
    match cause::<io::Error>(&error).map(io::Error::kind) {
        Some(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory) => Failure::not_found("resource", uri),
        Some(io::ErrorKind::PermissionDenied) => Failure::new(Reason::PermissionDenied, format!("resource {} may not be read", quote(uri))),
        _ => internal(error),
    }
}

/// Quotes a name from a request, bounded.
pub(crate) fn quote(name: &str) -> String {
    format!("{:?}", name.chars().take(200).collect::<String>())
}
