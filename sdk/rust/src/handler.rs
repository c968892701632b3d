//! Handlers: async functions and closures of a call, of arguments, of both, or of nothing.

use crate::Call;
use crate::failure::Error;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::pin::Pin;

/// The types of arguments: they have a JSON Schema and are read from JSON. Derive [`serde::Deserialize`] and [`schemars::JsonSchema`].
pub trait Arguments: DeserializeOwned + JsonSchema + Send + 'static {}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Arguments for T {}

/// An async function or closure that takes a [`Call`], [`Arguments`], both in this order, or nothing. `M` distinguishes these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler",
    label = "not an async function or closure of (), (Call), (Arguments) or (Call, Arguments)",
    note = "several arguments are the members of one struct",
    note = "arguments derive serde::Deserialize and schemars::JsonSchema; the parameters of a closure have their types written out; what it awaits is Send"
)]
pub trait Handler<M>: Send + Sync + 'static {
    type Arguments: Arguments;
    type Output: Send;
    type Future: Future<Output = Self::Output> + Send + 'static;
    fn handle(&self, call: Call, arguments: Self::Arguments) -> Self::Future;
}

/// No arguments.
#[derive(serde::Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct NoArguments {}

/// Implements a trait of the results of handlers for several types.
macro_rules! outputs {
    ($trait:ident, $function:ident, $result:ty: $($type:ty, $value:ident => $made:expr;)+) => {
        $(impl $trait for $type {
            fn $function(self) -> Result<$result, Error> {
                let $value = self;
                Ok($made)
            }
        })+
    };
}
pub(crate) use outputs;

macro_rules! handler {
    ($marker:ty, |$call:ident, $arguments:ident: $of:ty| ($($parameter:ident: $type:ty),*) $(, $generic:ident)?) => {
        impl<F, Fut $(, $generic: Arguments)?> Handler<$marker> for F
        where
            F: Fn($($type),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output: Send> + Send + 'static,
        {
            type Arguments = $of;
            type Output = Fut::Output;
            type Future = Fut;

            #[allow(unused_variables)]
            fn handle(&self, $call: Call, $arguments: $of) -> Fut {
                self($($parameter),*)
            }
        }
    };
}

handler!((), |call, arguments: NoArguments| ());
handler!((Call,), |call, arguments: NoArguments| (call: Call));
handler!(((), A), |call, arguments: A| (arguments: A), A);
handler!((Call, A), |call, arguments: A| (call: Call, arguments: A), A);

/// The work of a round.
pub(crate) type Work<R> = Pin<Box<dyn Future<Output = Result<R, Error>> + Send>>;
