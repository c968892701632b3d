//! Prompts.

use crate::Call;
use crate::completion::{Completers, completing};
use crate::content::{described, message};
use crate::contract::{self, GetPromptResult, PromptArgument, PromptMessage, Role};
use crate::failure::{Error, Failure, Reason};
use crate::handler::{Handler, Work, outputs};
use crate::schema;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// What a handler of a prompt can return: a text of the user, a [`PromptMessage`], a `Vec` of them, a whole [`GetPromptResult`], and a `Result`
/// of these.
pub trait PromptOutput: Send {
    /// An error of the handler's own.
    fn into_prompt(self) -> Result<GetPromptResult, Error>;
}

outputs! { PromptOutput, into_prompt, GetPromptResult:
    String, text => of(vec![message(Role::User, text)]);
    &'static str, text => of(vec![message(Role::User, text)]);
    PromptMessage, message => of(vec![message]);
    Vec<PromptMessage>, messages => of(messages);
    GetPromptResult, result => result;
}

fn of(messages: Vec<PromptMessage>) -> GetPromptResult {
    GetPromptResult { messages, ..Default::default() }
}

impl<T: PromptOutput, E: Into<Error> + Send> PromptOutput for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        self.map_err(Into::into)?.into_prompt()
    }
}

type Run = Arc<dyn Fn(Call, &HashMap<String, String>) -> Result<Work<GetPromptResult>, Failure> + Send + Sync>;

/// A prompt: how it is listed, and the handler, whose arguments are the members of a struct. Those that are no `Option` and have no default are
/// required; the comments of the members are their descriptions.
#[derive(Clone)]
pub struct Prompt {
    pub(crate) listed: contract::Prompt,
    pub(crate) run: Run,
    pub(crate) completers: Completers,
}

impl Prompt {
    pub fn new<M, H>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: PromptOutput,
    {
        let schema = schema::input::<H::Arguments>();
        let listed =
            contract::Prompt { name: name.into(), description: description.into(), arguments: arguments(&schema), ..Default::default() };
        let (prompt, description) = (listed.name.clone(), listed.description.clone());
        let handler = Arc::new(handler);
        let run: Run = Arc::new(move |call, given| {
            let arguments = schema::of_texts(&schema, given)
                .map_err(|e| Failure::new(Reason::InvalidArgument, format!("prompt {prompt}: the arguments do not fit: {e}")))?;
            let (handler, description) = (handler.clone(), description.clone());
            Ok(Box::pin(async move {
                let mut result = handler.handle(call, arguments).await.into_prompt()?;
                if result.description.is_empty() {
                    result.description = description;
                }
                Ok(result)
            }))
        });
        Self { listed, run, completers: Completers::default() }
    }

    described!();

    completing!();

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.listed.name.is_empty() {
            return Err("a prompt has no name; give it one".to_string());
        }
        let names: Vec<String> = self.listed.arguments.iter().map(|a| a.name.clone()).collect();
        self.completers.check(&format!("prompt {:?}", self.listed.name), &names)
    }
}

fn arguments(schema: &Value) -> Vec<PromptArgument> {
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|r| r == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let said = |rule: &Value, what: &str| rule[what].as_str().unwrap_or_default().to_string();
    let listed = properties.map(|(name, rule)| PromptArgument {
        name: name.clone(),
        title: said(rule, "title"),
        description: said(rule, "description"),
        required: required(name),
    });
    listed.collect()
}
