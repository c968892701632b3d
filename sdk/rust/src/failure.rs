//! How a call ends without a result.

/// Why there is no result. Of a tool, `InvalidArgument` and `FailedPrecondition` reach the model as a result with `isError`; all others are errors
/// of the protocol.
pub use crate::contract::FailureReason as Reason;
use crate::contract::{self, InputRequest};
use serde::Serialize;
use std::{error::Error as StdError, fmt, io, time::Duration};
use tonic::{Code, Status};

/// Whatever a handler fails with: `?` makes it of every error, `"text".into()` of a text.
///
/// Of a tool, its text becomes a result with `isError`, which a model can act on; of reads, prompts and completions it is INTERNAL. A
/// [`Failure`], an [`InputRequired`] and the [`Status`] of a gRPC client keep what they say, also as the source of another error.
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

    /// A failure by which the caller needs OAuth scopes for what it asked: at most 32 of at most 256 bytes. A client that gets an access
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

    /// The failure for RPCs that have no other way to say it.
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

/// An outcome for handlers that keep their own account of the rounds: returned as an error, it ends the round as it says. Handlers that ask
/// through the [`Call`](crate::Call) never need it. MCP: InputRequiredResult.
#[derive(Clone, Debug, Default)]
pub struct InputRequired {
    /// Asked all at once, at most 16.
    pub requests: Vec<InputRequest>,
    /// Comes back in `Call::state`; `None` keeps that of `Call::set_state`.
    pub state: Option<Vec<u8>>,
    /// With no requests, when to call again, at most an hour; zero: soon.
    pub retry_after: Duration,
    /// The next round may be run again with the state when the edge's replica is lost, whatever the tool says of itself.
    pub repeatable: bool,
}

/// What cannot be served, found when it is defined. The text names it, and says what to do.
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
