//! How a call ends without a result.

/// Why there is no result. For a tool, the model sees `InvalidArgument` and `FailedPrecondition` as a result with
/// `isError`; all others are protocol errors.
pub use crate::contract::FailureReason as Reason;
use crate::contract::{self, InputRequest};
use serde::Serialize;
use std::{error::Error as StdError, fmt, io, time::Duration};
use tonic::{Code, Status};

/// The error of a handler: `?` converts every error, `"text".into()` a text.
///
/// For a tool, its text becomes a result with `isError`, which a model can act on; for reads, prompts and completions
/// it is INTERNAL. A [`Failure`], an [`InputRequired`] and the [`Status`] of a gRPC client keep their kind, also as the
/// source of another error.
pub type Error = Box<dyn StdError + Send + Sync>;

/// Ends a call with a reason. The message says what was wrong, with which value, and what to do.
#[derive(Clone, Debug)]
pub struct Failure {
    pub reason: Reason,
    pub message: String,
    data: String,
    scopes: Vec<String>,
}

impl Failure {
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), data: String::new(), scopes: Vec::new() }
    }

    /// A failure for a caller that lacks OAuth scopes: at most 32 of at most 256 bytes. A client that gets an access
    /// token with them can call again.
    pub fn lacks_scopes<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        let message = format!("this needs the scopes {}: get an access token that has them", scopes.join(" "));
        Self { scopes, ..Self::new(Reason::PermissionDenied, message) }
    }

    /// Any JSON value for the error's `data`. A value that has no JSON makes the failure INTERNAL.
    pub fn data(mut self, data: impl Serialize) -> Self {
        match serde_json::to_string(&data) {
            Ok(text) => self.data = text,
            Err(e) => {
                self.reason = Reason::Internal;
                self.message += &format!(" (and the failure's data is not JSON: {e})");
            }
        }
        self
    }

    pub(crate) fn into_contract(self) -> contract::Failure {
        contract::Failure { reason: self.reason.into(), message: self.message, data_json: self.data, scopes: self.scopes }
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
            Reason::Internal | Reason::Unspecified => Code::Internal,
        };
        Status::new(code, self.message)
    }

    pub(crate) fn not_found(kind: &str, name: &str) -> Self {
        Self::new(Reason::NotFound, format!("there is no {kind} {}", quote(name)))
    }
}

/// The user did not answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The user said no.
    Declined,
    /// The user closed the question without a choice, or the client could not show it.
    Cancelled,
}

/// An outcome for handlers that manage state and answers themselves: returning it as an error ends the round. Handlers
/// that ask through the [`Call`](crate::Call) do not need it. MCP: InputRequiredResult.
#[derive(Clone, Debug, Default)]
pub struct InputRequired {
    /// Sent together, at most 16.
    pub requests: Vec<InputRequest>,
    /// Returned by `Call::state` in the next round; `None` keeps that of `Call::set_state`.
    pub state: Option<Vec<u8>>,
    /// Without requests: the delay before the next round, at most an hour; zero means soon.
    pub retry_after: Duration,
    /// Allows the edge to retry the next round with the state after the loss of a replica, whatever the tool's hints
    /// are.
    pub repeatable: bool,
}

/// An invalid definition. The text names it, and says what to do.
#[derive(Clone, Debug)]
pub struct DefinitionError(pub(crate) String);

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
    Refusal, refusal => match refusal {
        Refusal::Declined => "the user declined to answer",
        Refusal::Cancelled => "the user dismissed the question",
    };
    InputRequired, ending => format!("input required: {} requests", ending.requests.len());
    DefinitionError, error => error.0;
}

/// The first of an error and its sources that is a T.
pub(crate) fn cause<T: StdError + 'static>(error: &Error) -> Option<&T> {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error.as_ref());
    while let Some(e) = next {
        if let Some(found) = e.downcast_ref() {
            return Some(found);
        }
        // An io::Error has the source of what it holds, in place of that itself.
        next = e.downcast_ref::<io::Error>().and_then(io::Error::get_ref).map(|held| held as _).or_else(|| e.source());
    }
    None
}

/// How reads, prompts, lists and completions take an error that says nothing of its kind.
pub(crate) fn internal(error: Error) -> Failure {
    Failure::new(Reason::Internal, error.to_string())
}

/// How reads take an error that says nothing of its kind, but for what files say.
pub(crate) fn of_read(uri: &str, error: Error) -> Failure {
    match cause::<io::Error>(&error).map(io::Error::kind) {
        Some(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory) => Failure::not_found("resource", uri),
        Some(io::ErrorKind::PermissionDenied) => Failure::new(Reason::PermissionDenied, format!("resource {} may not be read", quote(uri))),
        _ => internal(error),
    }
}

/// A name from a request, bounded.
pub(crate) fn quote(name: &str) -> String {
    format!("{:?}", name.chars().take(200).collect::<String>())
}
