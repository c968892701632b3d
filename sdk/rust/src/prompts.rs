//! Prompts.

use crate::Call;
use crate::completion::{Completers, completing};
use crate::content::{PromptMessage, described, message};
use crate::contract::{self, PromptArgument};
use crate::failure::{Error, Failure, Reason};
use crate::handler::{Handler, Work, outputs};
use crate::schema;
use crate::types::Role;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The messages of a prompt. MCP: GetPromptResult.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GetPromptResult {
    /// The description; empty uses that of the prompt.
    pub description: String,
    pub messages: Vec<PromptMessage>,
    /// Its `_meta`, a JSON object.
    pub meta: Option<Value>,
}

/// The possible results of a prompt's handler: a text of the user, a [`PromptMessage`], a `Vec` of them, a complete [`GetPromptResult`], an
/// [`Mcp`](crate::Mcp), and a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    label = "not a text, PromptMessage, Vec<PromptMessage>, GetPromptResult, Mcp<T>, or a Result of these",
    note = "return Mcp(result) for a result of rmcp or another library, in the JSON form of MCP"
)]
pub trait PromptOutput: Send {
    /// Converts into the result of a prompt; an error if the handler returned one.
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

/// A prompt: its entry in lists, and its handler, whose arguments are the members of a struct. A member is required unless it is an `Option` or
/// has a default; its comment is its description.
#[derive(Clone)]
pub struct Prompt {
    pub(crate) listed: contract::Prompt,
    pub(crate) run: Run,
    pub(crate) completers: Completers,
}

impl Prompt {
    /// Returns a prompt of a handler. Arguments without a member in the type are refused by name.
    pub fn new<M, H>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: PromptOutput,
    {
        let schema = schema::input::<H::Arguments>();
        let listed =
            contract::Prompt { name: name.into(), description: description.into(), arguments: arguments(&schema), ..Default::default() };
        let (prompt, description) = (listed.name.clone(), listed.description.clone());
        let known = schema::closed(&schema::arguments::<H::Arguments>());
        let handler = Arc::new(handler);
        let run: Run = Arc::new(move |call, given| {
            let wrong = |e| Failure::new(Reason::InvalidArgument, format!("prompt {prompt}: {e}"));
            if let Some(known) = &known {
                schema::refuse_unknown(given.keys(), known).map_err(wrong)?;
            }
            let arguments = schema::of_texts(&schema, given).map_err(|e| wrong(format!("the arguments do not fit: {e}")))?;
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
