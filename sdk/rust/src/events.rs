//! The messages of a handler to the client before its result.

use crate::contract::{Checkpoint, Defer, LogLevel, LogMessage, Progress};
use crate::feed::lock;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::Waker;

/// The number of pending events from which on new progress replaces pending progress, and a new checkpoint a pending one.
const COALESCE: usize = 64;
/// The maximum number of pending events. Further log messages are dropped, and the client gets their number.
const MOST: usize = 1024;

#[derive(Debug)]
pub(crate) enum Event {
    Progress(Progress),
    Log(LogMessage),
    Defer(Defer),
    Checkpoint(Checkpoint),
}

/// The events of one round, in order. `put` never blocks, and may be called from any thread.
#[derive(Default)]
pub(crate) struct Events(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    dropped: usize,
    closed: bool,
    reader: Option<Waker>,
}

impl Events {
    /// Adds an event; after close it is dropped.
    pub fn put(&self, event: Event) {
        let mut w = lock(&self.0);
        if w.closed {
            return;
        }
        let replaces =
            |e: &Event| matches!((e, &event), (Event::Progress(_), Event::Progress(_)) | (Event::Checkpoint(_), Event::Checkpoint(_)));
        if w.events.len() >= COALESCE
            && let Some(i) = w.events.iter().rposition(replaces)
        {
            w.events.remove(i);
        }
        if matches!(event, Event::Log(_)) && w.events.len() >= MOST {
            w.dropped += 1;
            return;
        }
        w.events.push_back(event);
        if let Some(reader) = w.reader.take() {
            reader.wake();
        }
    }

    /// Returns the next event; `None` if there is none yet, and the reader is woken when there is.
    pub fn next(&self, reader: &Waker) -> Option<Event> {
        let mut w = lock(&self.0);
        let event = w.events.pop_front();
        if event.is_none() {
            w.reader = Some(reader.clone());
        }
        event
    }

    /// Drops all later events; pending ones are still read.
    pub fn close(&self) {
        let mut w = lock(&self.0);
        w.closed = true;
        if w.dropped > 0 {
            let data_json = format!("\"{} log messages were dropped: the client reads too slowly\"", w.dropped);
            w.events.push_back(Event::Log(LogMessage { level: LogLevel::Warning.into(), data_json, ..Default::default() }));
        }
    }
}
