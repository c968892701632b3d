//! The answers and the state of a call, from one round to the next.

use crate::contract::{CallToolRequest, InputRequest, InputResponse, input_response::Response};
use crate::failure::{Failure, Reason};
use prost::Message;
use std::collections::{HashMap, HashSet};

/// The maximum size of a state, in bytes.
const MAX_STATE: usize = 64 << 10;
const MAX_REQUESTS: usize = 16;
/// The maximum number of times that one round may ask a question that has an answer. It ends a loop that repeats a question until it accepts the answer.
const MAX_REPEATS: u32 = 1000;
/// The maximum size of a key, in bytes.
const MAX_KEY: usize = 128;
const MARK: &[u8] = b"\0capability\x01";
const ONCE: &str = "\0once:";

/// The client's answers so far, and the questions that this round found unanswered.
#[derive(Default)]
pub struct Answers {
    kept: Vec<InputResponse>,
    latest: Vec<InputResponse>,
    pub(crate) missing: Vec<InputRequest>,
    /// The questions of this round by their keys, and how often each was asked.
    asked: HashMap<String, (InputRequest, u32)>,
    /// The keys of `once` whose values this round has returned.
    stepped: HashSet<String>,
    /// An invalid use of a question or of `once`, which ends the round.
    pub(crate) mistake: Option<String>,
    /// The state of `Call::set_state` or of a checkpoint.
    pub(crate) state: Option<Vec<u8>>,
}

impl Answers {
    /// Creates the answers of a round; INVALID_ARGUMENT if the state was not written by this library.
    pub(crate) fn new(responses: Vec<InputResponse>, state: &[u8]) -> Result<Self, Failure> {
        // A client that sends keys of `once` would choose its values.
        let latest = responses.into_iter().filter(|r| !r.key.starts_with(ONCE)).collect();
        let mut answers = Self { latest, ..Self::default() };
        if !state.is_empty() {
            // The fields of a CallToolRequest are those of a memory: answers and a state.
            let memory = state.strip_prefix(MARK).and_then(|m| CallToolRequest::decode(m).ok()).ok_or_else(|| {
                Failure::new(
                    Reason::InvalidArgument,
                    "the state of this call was written by another version of the service; call again from the start",
                )
            })?;
            answers.kept = memory.input_responses;
            let has_state = !memory.state.is_empty() || !memory.arguments_json.is_empty();
            answers.state = has_state.then_some(memory.state);
        }
        Ok(answers)
    }

    /// Returns the answer to a key: one from earlier rounds first, so that a client cannot change it. A new valid answer
    /// is stored.
    pub(crate) fn find<T>(&mut self, key: &str, read: impl Fn(&InputResponse) -> Option<T>) -> Option<T> {
        if let Some(answer) = self.kept.iter().filter(|r| r.key == key).find_map(&read) {
            return Some(answer);
        }
        let (response, answer) = self.latest.iter().filter(|r| r.key == key).find_map(|r| Some((r, read(r)?)))?;
        let response = response.clone();
        self.kept.retain(|r| r.key != key);
        self.kept.push(response);
        Some(answer)
    }

    /// Counts a question. An error if another one of this round has its key, as one answer would be that of both, or if it was asked too often.
    pub(crate) fn ask(&mut self, request: &InputRequest) -> Result<(), String> {
        let key = &request.key;
        let (before, times) = self.asked.entry(key.clone()).or_insert_with(|| (request.clone(), 0));
        *times += 1;
        if before != request {
            return Err(format!("two different questions have the key {key:.40?}; give each its own, as format!(\"sure-{{id}}\")"));
        }
        if *times > MAX_REPEATS {
            return Err(format!(
                "one round asked the question {key:.40?} {MAX_REPEATS} times, and its answer stays the same; ask again under another key, as format!(\"cups-{{attempt}}\")"
            ));
        }
        Ok(())
    }

    /// An error if a key is none for `once`, or if this round has its value already: the future of the second would not run.
    pub(crate) fn may_step(&self, key: &str) -> Result<(), String> {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(format!("the key of once has 1 to {MAX_KEY} bytes, not {}: {key:.40?}", key.len()));
        }
        if self.stepped.contains(key) {
            return Err(format!(
                "once({key:.40?}) came twice in one round, where the second has the value of the first; give each its own key, as format!(\"order-{{id}}\")"
            ));
        }
        Ok(())
    }

    /// Stores the value of `once` under a key, as JSON.
    pub(crate) fn step(&mut self, key: &str, text: &str) -> Result<(), String> {
        self.may_step(key)?;
        self.stepped.insert(key.to_string());
        if self.once(key).is_none() {
            self.kept.push(InputResponse { key: format!("{ONCE}{key}"), response: Some(Response::RawJson(text.to_string())) });
        }
        Ok(())
    }

    pub(crate) fn miss(&mut self, request: &InputRequest) {
        if !self.missing.iter().any(|r| r.key == request.key) {
            self.missing.push(request.clone());
        }
    }

    /// Returns the JSON that `step` stored under a key.
    pub(crate) fn once(&self, key: &str) -> Option<String> {
        let kept = self.kept.iter().find(|r| r.key.strip_prefix(ONCE) == Some(key))?;
        match &kept.response {
            Some(Response::RawJson(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// Encodes answers and state, with the answers not requested yet if `latest` is true. `state` replaces the
    /// handler's own. An error above MAX_STATE.
    pub(crate) fn memory(&self, latest: bool, state: Option<&[u8]>) -> Result<Vec<u8>, String> {
        let mut input_responses = self.kept.clone();
        if latest {
            let new = self.latest.iter().filter(|l| !self.kept.iter().any(|k| k.key == l.key));
            input_responses.extend(new.cloned());
        }
        let state = state.or(self.state.as_deref());
        let memory = CallToolRequest {
            input_responses,
            // Distinguishes an empty state from none.
            arguments_json: state.map(|_| "{}".to_string()).unwrap_or_default(),
            state: state.unwrap_or_default().to_vec(),
            ..Default::default()
        };
        let whole = [MARK, &memory.encode_to_vec()].concat();
        if whole.len() > MAX_STATE {
            return Err(format!(
                "answers and state of this call have {} bytes, above the {MAX_STATE} that survive a round; keep large data elsewhere, under Call::id",
                whole.len()
            ));
        }
        Ok(whole)
    }
}

/// Returns an error if the questions of one round break the contract.
pub(crate) fn check_requests(requests: &[InputRequest]) -> Result<(), String> {
    if requests.len() > MAX_REQUESTS {
        return Err(format!("{} questions in one round; ask at most {MAX_REQUESTS} at once", requests.len()));
    }
    for (i, request) in requests.iter().enumerate() {
        let key = &request.key;
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(format!("the key of a question has 1 to {MAX_KEY} bytes, not {}: {key:.40?}", key.len()));
        }
        if requests[..i].iter().any(|r| r.key == *key) {
            return Err(format!("two questions of one round have the key {key:?}; give each its own"));
        }
    }
    Ok(())
}
