//! How a call ends without a result.

use crate::contract::InputRequest;
use crate::questions::Question;
use serde::Serialize;
use std::{error::Error as StdError, fmt, io, time::Duration};
use tonic::{Code, Status};

/// Why there is no result. For a tool, the model sees `InvalidArgument`, `FailedPrecondition` and `NotFound` as a result with `isError`; all
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
/// source of another error.
pub type Error = Box<dyn StdError + Send + Sync>;

/// Ends a call with a reason. The message says what was wrong, with which value, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub reason: Reason,
    pub message: String,
    pub(crate) data: String,
    pub(crate) scopes: Vec<String>,
}

impl Failure {
    /// Returns a failure with a reason and a message for the client.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), data: String::new(), scopes: Vec::new() }
    }

    /// Returns a failure for a caller that lacks OAuth scopes: at most 32 of at most 256 bytes. A client that gets an access
    /// token with them can call again.
    pub fn lacks_scopes<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        let message = format!("this needs the scopes {}: get an access token that has them", scopes.join(" "));
        Self { scopes, ..Self::new(Reason::PermissionDenied, message) }
    }

    /// Sets the error's `data`, any JSON value. A value that has no JSON makes the failure INTERNAL.
    pub fn with_data(mut self, data: impl Serialize) -> Self {
        match serde_json::to_string(&data) {
            Ok(text) => self.data = text,
            Err(e) => {
                self.reason = Reason::Internal;
                self.message += &format!(" (and the failure's data is not JSON: {e})");
            }
        }
        self
    }

    /// The error's `data`; null if there is none.
    pub fn data(&self) -> serde_json::Value {
        serde_json::from_str(&self.data).unwrap_or_default()
    }

    /// The scopes of `lacks_scopes`.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
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
    /// The user said no.
    Declined,
    /// The user closed the question without a choice, or the client could not show it.
    Dismissed,
}

/// An outcome for handlers that manage state and answers themselves: returning it as an error ends the round. Handlers
/// that ask through the [`Call`](crate::Call) do not need it. MCP: InputRequiredResult.
#[derive(Clone, Debug, Default)]
pub struct InputRequired {
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
        self.state = Some(state.into());
        self
    }

    /// Without questions: sets the delay before the next round, at most an hour.
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = delay;
        self
    }

    /// Allows the edge to retry the next round with the state after the loss of a replica, whatever the tool's hints
    /// are.
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Adds a question; at most 16 are sent together. `Call::answered` returns its answer in the next round.
    pub fn ask<T>(mut self, question: &Question<T>) -> Self {
        self.requests.push(question.request.clone());
        self
    }
}

/// An invalid definition. The text names it, and says what to do.
#[derive(Clone)]
pub struct DefinitionError(pub(crate) String);

impl fmt::Debug for DefinitionError {
    /// Writes the text as it is: `main` prints the error that it returns so.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! error {
    ($($type:ty, $value:ident => $text:expr;)+) => {
        $(impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $value = self;
                f.write_str(&$text)
            }
        }
        impl StdError for $type {})+
    };
}

error! {
    Failure, failure => failure.message;
    Unanswered, unanswered => match unanswered {
        Unanswered::Declined => "the user declined to answer",
        Unanswered::Dismissed => "the user dismissed the question",
    };
    InputRequired, ending => format!("input required: {} requests", ending.requests.len());
    DefinitionError, error => error.0;
}

/// Returns the first of an error and its sources that is a T.
pub(crate) fn cause<T: StdError + 'static>(error: &Error) -> Option<&T> {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error.as_ref());
    while let Some(e) = next {
        if let Some(found) = e.downcast_ref() {
            return Some(found);
        }
        // The source of an io::Error is that of the error inside it, not this error itself.
        next = e.downcast_ref::<io::Error>().and_then(io::Error::get_ref).map(|held| held as _).or_else(|| e.source());
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
