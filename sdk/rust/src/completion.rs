//! Suggestions for arguments.

use crate::Call;
use crate::failure::Error;
use crate::handler::Work;
use std::collections::HashMap;
use std::sync::Arc;

/// A function of the typed text and of the arguments already chosen.
pub(crate) type Completer = Arc<dyn Fn(Call, String, HashMap<String, String>) -> Work<Vec<String>> + Send + Sync>;

/// Completers by argument.
#[derive(Clone, Default)]
pub(crate) struct Completers(pub HashMap<String, Completer>);

impl Completers {
    /// Suggests the values that begin with the typed text, in any case.
    pub fn fixed<V: Into<String>>(&mut self, argument: &str, values: impl IntoIterator<Item = V>) {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        self.by(argument, move |_, typed, _| {
            let typed = typed.to_lowercase();
            let fitting = values.iter().filter(|v| v.to_lowercase().starts_with(&typed)).cloned().collect();
            std::future::ready(Ok::<_, Error>(fitting))
        });
    }

    pub fn by<F, Fut, E>(&mut self, argument: &str, function: F)
    where
        F: Fn(Call, String, HashMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, E>> + Send + 'static,
        E: Into<Error>,
    {
        let function = Arc::new(function);
        let by: Completer = Arc::new(move |call, typed, chosen| {
            let function = function.clone();
            Box::pin(async move { function(call, typed, chosen).await.map_err(Into::into) })
        });
        self.0.insert(argument.to_string(), by);
    }

    pub fn check(&self, what: &str, arguments: &[String]) -> Result<(), String> {
        let Some(argument) = self.0.keys().find(|k| !arguments.contains(k)) else { return Ok(()) };
        let known = arguments.join(", ");
        Err(format!("{what}: there is no argument {argument:?} to complete, only {known}; add it, or complete one of these"))
    }
}

/// The methods `complete` and `complete_by`.
macro_rules! completing {
    () => {
        /// Sets suggestions for an argument: the values that begin with the typed text.
        pub fn complete<V: Into<String>>(mut self, argument: &str, values: impl IntoIterator<Item = V>) -> Self {
            self.completers.fixed(argument, values);
            self
        }

        /// Sets an async function that suggests values of an argument, by the call, the typed text, and the arguments already chosen.
        pub fn complete_by<F, Fut, E>(mut self, argument: &str, function: F) -> Self
        where
            F: Fn(crate::Call, String, std::collections::HashMap<String, String>) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<Vec<String>, E>> + Send + 'static,
            E: Into<crate::Error>,
        {
            self.completers.by(argument, function);
            self
        }
    };
}
pub(crate) use completing;
