//! Questions to the client.

use crate::answers::Answers;
use crate::contract::input_request::Request;
use crate::contract::input_response::Response;
use crate::contract::{ElicitAction, ElicitForm, ElicitUrl, InputRequest, InputResponse, ListRoots};
use crate::failure::Unanswered;
use crate::forms::Form;
use crate::sampling::{CreateMessage, CreateMessageResult};
use crate::types::Root;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A question to the client, under a key that is unique within the call. [`form`], [`form_schema`], [`open_url`], [`sampling`], [`list_roots`] and
/// [`raw_question`] create one; `Call::ask_all` asks several at once.
pub struct Question<T> {
    pub(crate) request: InputRequest,
    /// The reason why it cannot be asked.
    mistake: Option<String>,
    /// Reads the answer; `None` if it does not fit.
    #[allow(clippy::type_complexity)]
    pub(crate) read: Box<dyn Fn(&InputResponse) -> Option<T> + Send + Sync>,
}

impl<T> Question<T> {
    fn new(key: &str, request: Request, read: impl Fn(&InputResponse) -> Option<T> + Send + Sync + 'static) -> Self {
        Self { request: InputRequest { key: key.to_string(), request: Some(request) }, mistake: None, read: Box::new(read) }
    }
}

/// The user's decision on a form. MCP: ElicitResult.action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Accept,
    Decline,
    /// The user dismissed the form, or the client could not show it.
    Cancel,
}

impl Action {
    /// `accept`, `decline` or `cancel`.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Accept => "accept",
            Action::Decline => "decline",
            Action::Cancel => "cancel",
        }
    }
}

/// The user's answer to a form by a schema. MCP: ElicitResult.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitResult {
    pub action: Action,
    /// The completed form; empty unless accepted.
    pub content: Map<String, Value>,
}

/// The question of `Call::ask`.
pub fn form<T: DeserializeOwned + JsonSchema + 'static>(key: &str, message: impl Into<String>) -> Question<Result<T, Unanswered>> {
    let (form, mistake) = Form::of::<T>(key).map_or_else(|e| (Form::default(), Some(e)), |form| (form, None));
    let request = form_request(message, &form);
    let question = Question::new(key, request, move |r| match content(r)? {
        Ok(text) => form.read(text).map(Ok),
        Err(unanswered) => Some(Err(unanswered)),
    });
    Question { mistake, ..question }
}

/// The question of `Call::ask_form`.
pub fn form_schema(key: &str, message: impl Into<String>, schema: Value) -> Question<ElicitResult> {
    let (form, mistake) = Form::raw(schema).map_or_else(|e| (Form::default(), Some(e)), |form| (form, None));
    let request = form_request(message, &form);
    let question = Question::new(key, request, move |r| {
        Some(match content(r)? {
            Ok(text) => ElicitResult { action: Action::Accept, content: form.members(text)? },
            Err(Unanswered::Declined) => ElicitResult { action: Action::Decline, content: Map::new() },
            Err(Unanswered::Dismissed) => ElicitResult { action: Action::Cancel, content: Map::new() },
        })
    });
    Question { mistake, ..question }
}

/// The question of `Call::open_url`.
pub fn open_url(key: &str, message: impl Into<String>, url: impl Into<String>) -> Question<Result<(), Unanswered>> {
    let asked = ElicitUrl { message: message.into(), url: url.into(), ..Default::default() };
    Question::new(key, Request::ElicitUrl(asked), |r| Some(content(r)?.map(|_| ())))
}

/// The question of `Call::sample`.
pub fn sampling(key: &str, request: impl Into<CreateMessage>) -> Question<CreateMessageResult> {
    Question::new(key, Request::CreateMessage(request.into().into_wire()), |r| match &r.response {
        Some(Response::CreateMessage(said)) if !said.content.is_empty() => Some(CreateMessageResult::from_wire(said.clone())),
        _ => None,
    })
}

/// The question of `Call::roots`.
pub fn list_roots(key: &str) -> Question<Vec<Root>> {
    Question::new(key, Request::ListRoots(ListRoots {}), |r| match &r.response {
        Some(Response::ListRoots(listed)) => Some(listed.roots.iter().cloned().map(Root::from_wire).collect()),
        _ => None,
    })
}

/// Another request that the client may support: an object with `method` and `params`. The answer is the client's result.
pub fn raw_question(key: &str, request: &Value) -> Question<Value> {
    Question::new(key, Request::RawJson(request.to_string()), |r| match &r.response {
        Some(Response::RawJson(text)) => serde_json::from_str(text).ok(),
        _ => None,
    })
}

fn form_request(message: impl Into<String>, form: &Form) -> Request {
    let requested_schema_json = form.schema.to_string();
    Request::ElicitForm(ElicitForm { message: message.into(), requested_schema_json, ..Default::default() })
}

/// The completed form; `None` if the response is no answer of a user.
fn content(response: &InputResponse) -> Option<Result<&str, Unanswered>> {
    let Some(Response::Elicit(result)) = &response.response else { return None };
    match result.action() {
        ElicitAction::Accept if result.content_json.is_empty() => Some(Ok("{}")),
        ElicitAction::Accept => Some(Ok(&result.content_json)),
        ElicitAction::Decline => Some(Err(Unanswered::Declined)),
        ElicitAction::Cancel => Some(Err(Unanswered::Dismissed)),
        ElicitAction::Unspecified => None,
    }
}

/// Several questions, and their answers: a tuple of two to six [`Question`]s, or a `Vec` of one kind.
pub trait Questions: Send + Sync {
    type Answers;
    /// Returns the answers if all are there, and records the questions that have none.
    #[doc(hidden)]
    fn find(&self, answers: &mut Answers) -> Option<Self::Answers>;
}

impl<T> Questions for Question<T> {
    type Answers = T;

    fn find(&self, answers: &mut Answers) -> Option<T> {
        let asked = self.mistake.clone().map_or(Ok(()), Err).and_then(|()| answers.ask(&self.request));
        if let Err(mistake) = asked {
            answers.mistake.get_or_insert(mistake);
            return None;
        }
        let answer = answers.find(&self.request.key, &self.read);
        if answer.is_none() {
            answers.miss(&self.request);
        }
        answer
    }
}

impl<Q: Questions> Questions for Vec<Q> {
    type Answers = Vec<Q::Answers>;

    fn find(&self, answers: &mut Answers) -> Option<Self::Answers> {
        let found: Vec<_> = self.iter().map(|q| q.find(answers)).collect();
        found.into_iter().collect()
    }
}

macro_rules! tuple {
    ($($q:ident $i:tt),+) => {
        impl<$($q: Questions),+> Questions for ($($q,)+) {
            type Answers = ($($q::Answers,)+);

            fn find(&self, answers: &mut Answers) -> Option<Self::Answers> {
                let found = ($(self.$i.find(answers),)+);
                Some(($(found.$i?,)+))
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
