//! The Call: one round of a tool call, a read or a prompt.

use crate::answers::Answers;
use crate::content::cache_hint;
use crate::contract::{CacheHint, Checkpoint, Defer, LogMessage, Progress, RequestContext};
use crate::events::{Event, Events};
use crate::failure::{Error, Unanswered};
use crate::feed::lock;
use crate::questions::{self, ElicitResult, Question, Questions};
use crate::sampling::{CreateMessage, CreateMessageResult};
use crate::types::{ClientCapabilities, Implementation, Level, Principal, Root};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The request of a handler, and its way to send events to the client while it runs. Clones are of the same call, and
/// may be used from any task and thread until the handler returns; later events are dropped.
#[derive(Clone)]
pub struct Call(Arc<Inner>);

struct Inner {
    context: RequestContext,
    /// Converted at first use; that of a signed identity is set before.
    principal: OnceLock<Principal>,
    uri: String,
    deadline: Option<Instant>,
    /// `None` if the call can neither send events nor ask questions.
    events: Option<Arc<Events>>,
    memory: Mutex<Memory>,
    cancelled: watch::Sender<bool>,
}

#[derive(Default)]
pub(crate) struct Memory {
    pub answers: Answers,
    meta: Option<Value>,
    pub cache: Option<CacheHint>,
    progress: Option<f64>,
    deferred: bool,
    runner: Option<Waker>,
}

impl Call {
    pub(crate) fn new(
        context: Option<RequestContext>, uri: &str, deadline: Option<Instant>, events: Option<Arc<Events>>, answers: Answers,
    ) -> Self {
        Self(Arc::new(Inner {
            context: context.unwrap_or_default(),
            principal: OnceLock::new(),
            uri: uri.to_string(),
            deadline,
            events,
            memory: Mutex::new(Memory { answers, ..Memory::default() }),
            cancelled: watch::Sender::new(false),
        }))
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.0.memory)
    }

    /// Whether the round ends here: a question waits for an answer, or there is a mistake. If not, the waker is woken when it does.
    pub(crate) fn asks(&self, runner: &Waker) -> bool {
        let mut memory = self.memory();
        memory.runner = Some(runner.clone());
        !memory.answers.missing.is_empty() || memory.answers.mistake.is_some()
    }

    /// The `_meta` of a result: its own, or else that of `set_meta`.
    pub(crate) fn result_meta(&self, own: Option<Value>) -> Option<Value> {
        own.or_else(|| self.memory().meta.clone())
    }

    /// Replaces the principal by that of a signed identity. Called before the handler runs.
    #[cfg(feature = "identity")]
    pub(crate) fn set_principal(&self, principal: Principal) {
        // Only the first call of `principal` sets it otherwise.
        let _ = self.0.principal.set(principal);
    }

    /// Ends the round with an invalid use by the handler: the future is never ready.
    async fn mistaken<T>(&self, mistake: String) -> T {
        let runner = {
            let mut memory = self.memory();
            memory.answers.mistake.get_or_insert(mistake);
            memory.runner.take()
        };
        if let Some(runner) = runner {
            runner.wake();
        }
        pending().await
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.deadline
    }

    pub(crate) fn cancel(&self) {
        self.0.cancelled.send_replace(true);
    }

    /// The id of the call: random, at most 64 characters, equal in all rounds and attempts, so it can be an idempotency
    /// key.
    pub fn id(&self) -> &str {
        &self.0.context.call_id
    }

    /// 1 for the first run of a round, 2 if it is retried because a replica was lost.
    pub fn attempt(&self) -> u32 {
        self.0.context.attempt
    }

    /// 1 for the first round, and one more after each set of answers.
    pub fn round(&self) -> u32 {
        self.0.context.round
    }

    /// The caller. An empty subject means anonymous.
    pub fn principal(&self) -> &Principal {
        self.0.principal.get_or_init(|| self.0.context.principal.clone().map(Principal::from_wire).unwrap_or_default())
    }

    /// A claim of the caller's access token; `None` if the token has no such claim, or if the edge's setting `claims`
    /// of this backend does not name it.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.principal().claims.get(name)
    }

    /// The name and version that the client reports, for display only.
    pub fn client_info(&self) -> Option<Implementation> {
        self.0.context.client_info.clone().map(Implementation::from_wire)
    }

    /// The questions that the client supports. No check is needed before asking: the edge answers for a client that
    /// lacks the capability. Check it to choose another way.
    pub fn client_capabilities(&self) -> ClientCapabilities {
        self.0.context.client_capabilities.clone().map(ClientCapabilities::from_wire).unwrap_or_default()
    }

    /// `_meta` of the client's request; empty if there is none.
    pub fn meta(&self) -> Map<String, Value> {
        serde_json::from_str(&self.0.context.meta_json).unwrap_or_default()
    }

    /// The URI of a read; empty otherwise.
    pub fn uri(&self) -> &str {
        &self.0.uri
    }

    /// The time until the deadline, when the handler is dropped; `None` if there is no deadline.
    pub fn time_remaining(&self) -> Option<Duration> {
        Some(self.0.deadline?.saturating_duration_since(Instant::now()))
    }

    /// Returns when the client has cancelled the call, or its deadline has passed. The handler
    /// itself is then dropped; this is for work that it started elsewhere, by `tokio::spawn` or in a thread.
    pub async fn cancelled(&self) {
        // The sender is this call's own, so that it cannot be gone.
        let _ = self.0.cancelled.subscribe().wait_for(|c| *c).await;
    }

    /// Whether the client has cancelled the call, or its deadline has passed; see `cancelled`.
    pub fn is_cancelled(&self) -> bool {
        *self.0.cancelled.borrow()
    }

    /// The id of the call's task; empty if the call is not a task, or not yet. The same caller may read the task by it.
    pub fn task_id(&self) -> &str {
        self.0.context.task.as_ref().map_or("", |t| &t.id)
    }

    /// The state of `set_state` or of a checkpoint; `None` if there is none.
    pub fn state(&self) -> Option<Vec<u8>> {
        self.memory().answers.state.clone()
    }

    /// Stores bytes for the next round, if there is one: the edge seals them and passes them through the client. State
    /// and answers together are limited to 64 KiB.
    pub fn set_state(&self, state: impl Into<Vec<u8>>) {
        self.memory().answers.state = Some(state.into());
    }

    /// Returns the output of the future, which runs in the first round that reaches this line; later rounds return the
    /// same value. The key is unique among those of `once` in the call: in a loop it has the id of the item. The value is
    /// stored in the call's state as JSON; a value that JSON does not hold fails the call. A round that is retried because
    /// a replica was lost runs the future again, unless there was a checkpoint since.
    pub async fn once<T: Serialize + DeserializeOwned>(&self, key: &str, future: impl Future<Output = T>) -> T {
        let Ok(value) = self.try_once(key, async { Ok::<_, Infallible>(future.await) }).await;
        value
    }

    /// As `once`, for a future that may fail: an error is not stored.
    pub async fn try_once<T: Serialize + DeserializeOwned, E>(
        &self, key: &str, future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let kept = {
            let answers = &self.memory().answers;
            answers.may_step(key).map(|()| answers.once(key))
        };
        let text = match kept {
            Err(mistake) => return self.mistaken(mistake).await,
            Ok(Some(text)) => text,
            Ok(None) => match serde_json::to_string(&future.await?) {
                Ok(text) => text,
                Err(e) => return self.mistaken(format!("once({key:?}): {e}; return a value that JSON can hold")).await,
            },
        };
        let stepped = self.memory().answers.step(key, &text);
        if let Err(mistake) = stepped {
            return self.mistaken(mistake).await;
        }
        match serde_json::from_str(&text) {
            Ok(value) => Ok(value),
            Err(e) => self.mistaken(format!("once({key:?}): {e}; return a type that reads the JSON it writes")).await,
        }
    }

    /// Sets `_meta` of the result, a JSON object; that of a result has precedence.
    pub fn set_meta(&self, meta: &Value) {
        self.memory().meta = Some(meta.clone());
    }

    /// Sets how long (up to 30 days) the client may cache the contents, and whether callers may share the cache entry.
    /// For reads only.
    pub fn set_cache(&self, ttl: Duration, shared: bool) {
        self.memory().cache = Some(cache_hint(ttl, shared));
    }

    /// Whether the client receives progress. Check it if progress is expensive to compute.
    pub fn wants_progress(&self) -> bool {
        self.0.events.is_some() && self.0.context.progress_wanted
    }

    /// The lowest level that the client wants; `None` if it wants no messages.
    pub fn log_level(&self) -> Option<Level> {
        Level::from_wire(self.0.context.log_level())
    }

    /// Whether the client wants messages of this level.
    pub fn wants_log(&self, level: Level) -> bool {
        let least = self.0.context.log_level;
        self.0.events.is_some() && least > 0 && level as i32 >= least
    }

    /// Sends progress to the client, with a message for people. Progress that does not rise or was not requested is
    /// dropped; of the pending values for a slow reader, only the last is sent. MCP: notifications/progress.
    pub fn progress(&self, progress: f64, total: impl Into<Option<f64>>, message: impl Into<String>) {
        let (Some(events), true) = (&self.0.events, self.0.context.progress_wanted) else { return };
        let mut memory = self.memory();
        if memory.progress.is_none_or(|before| progress > before) {
            memory.progress = Some(progress);
            let (total, message) = (total.into(), message.into());
            events.put(Event::Progress(Progress { progress, total, message, ..Default::default() }));
        }
    }

    /// Sends the client a log message: any value that encodes as JSON, under a logger's name, which may be empty.
    /// Messages below the client's level are dropped before encoding. They must not contain secrets. MCP:
    /// notifications/message.
    pub fn log(&self, level: Level, logger: &str, data: impl Serialize) {
        let Some(events) = self.0.events.as_ref().filter(|_| self.wants_log(level)) else { return };
        let data_json = serde_json::to_string(&data).unwrap_or_else(|e| Value::from(format!("log data that is not JSON: {e}")).to_string());
        let (level, logger) = (level as i32, logger.to_string());
        events.put(Event::Log(LogMessage { level, logger, data_json, ..Default::default() }));
    }

    /// Makes the call a task now, if it may become one and is not one yet; otherwise it does nothing. A task does not end
    /// when its client disconnects.
    pub fn defer(&self) {
        let mut memory = self.memory();
        let may = self.0.context.task.as_ref().is_some_and(|t| t.id.is_empty());
        if let (Some(events), true, false) = (&self.0.events, may, memory.deferred) {
            memory.deferred = true;
            events.put(Event::Defer(Defer {}));
        }
    }

    /// Stores a checkpoint: if the edge's replica that runs the call is lost, the handler runs again from its top, with
    /// this state and the answers so far. Above 64 KiB it returns an error, and stores nothing. It does nothing with an
    /// edge that does not support checkpoints.
    pub fn checkpoint(&self, state: impl Into<Vec<u8>>) -> Result<(), Error> {
        let (Some(events), true) = (&self.0.events, self.0.context.checkpoints) else { return Ok(()) };
        let (state, mut memory) = (state.into(), self.memory());
        let whole = memory.answers.memory(true, Some(&state))?;
        memory.answers.state = Some(state);
        events.put(Event::Checkpoint(Checkpoint { state: whole }));
        Ok(())
    }

    /// Asks the user to complete a form, and returns the answer: a struct of strings, numbers, booleans and lists of enumerated strings, or one
    /// of these, for one value that is named by the key.
    ///
    /// A handler that asks runs from its top in each round. A question with an answer returns it; without one it stays
    /// pending, and the handler is dropped when all concurrent questions are pending. Answers are kept in all later
    /// rounds; a question is repeated if its answer is invalid. So:
    ///
    /// - do nothing that must not happen twice before the last question is answered, or do it by `once`;
    /// - ask in the same order under the same keys in every round (`ask_all` asks several questions at once);
    /// - give each question its own key: in a loop, one with the id of the item or the number of the attempt.
    ///
    /// MCP: elicitation/create in form mode; InputRequiredResult.
    pub async fn ask<T: DeserializeOwned + JsonSchema + 'static>(&self, key: &str, message: impl Into<String>) -> Result<T, Unanswered> {
        self.answer(questions::form(key, message)).await
    }

    /// Asks by a flat JSON Schema object of primitive properties, which is sent unchanged. Accepted content satisfies
    /// its required members, types, enums and bounds.
    pub async fn ask_form(&self, key: &str, message: impl Into<String>, schema: Value) -> ElicitResult {
        self.answer(questions::form_schema(key, message, schema)).await
    }

    /// Asks the user to open an https: URL, for data that must not pass through the client (logins, secrets, payments).
    /// It returns when the user has agreed, not when the page is completed. MCP: elicitation/create in URL mode.
    pub async fn open_url(&self, key: &str, message: impl Into<String>, url: impl Into<String>) -> Result<(), Unanswered> {
        self.answer(questions::open_url(key, message, url)).await
    }

    /// Requests a completion from the client's model. MCP: sampling/createMessage.
    pub async fn sample(&self, key: &str, request: impl Into<CreateMessage>) -> CreateMessageResult {
        self.answer(questions::sampling(key, request)).await
    }

    /// Requests the directories and files that the client works on; there may be none. MCP: roots/list.
    pub async fn roots(&self, key: &str) -> Vec<Root> {
        self.answer(questions::list_roots(key)).await
    }

    /// The client's answer to one question.
    pub async fn answer<T>(&self, question: Question<T>) -> T {
        self.ask_all(question).await
    }

    /// Asks several questions in one round, at most 16: a tuple or a `Vec` of them.
    pub async fn ask_all<Q: Questions>(&self, questions: Q) -> Q::Answers {
        if self.0.events.is_none() {
            return self.mistaken("the client cannot be asked here; ask in a tool, a read or a prompt".to_string()).await;
        }
        poll_fn(|_| {
            let mut memory = self.memory();
            let found = questions.find(&mut memory.answers);
            if let (Some(found), true, None) = (found, memory.answers.missing.is_empty(), &memory.answers.mistake) {
                return Poll::Ready(found);
            }
            if let Some(runner) = memory.runner.take() {
                runner.wake();
            }
            Poll::Pending
        })
        .await
    }

    /// The answer to a question of [`InputRequired`](crate::InputRequired); `None` if there is none, or if it does not
    /// fit the question. It is kept in later rounds.
    pub fn answered<T>(&self, question: &Question<T>) -> Option<T> {
        self.memory().answers.find(&question.request.key, &question.read)
    }
}
