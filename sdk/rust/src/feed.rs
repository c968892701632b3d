//! Change feeds.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tonic::Status;

/// The maximum number of different pending URIs of one watcher. Beyond it they become one event for the watched URI.
const MAX_PENDING: usize = 1024;

/// Notifies any number of watchers of changes. Pending changes of a slow watcher are coalesced; publishing never blocks.
#[derive(Default)]
pub(crate) struct Feed(Mutex<Watchers>);

#[derive(Default)]
struct Watchers {
    watchers: Vec<Arc<Watcher>>,
    closed: bool,
}

struct Watcher {
    uri: String,
    pending: Mutex<Pending>,
    wake: Notify,
}

#[derive(Default)]
struct Pending {
    uris: BTreeSet<String>,
    closed: bool,
}

/// A subscription to a feed, which ends when it is dropped.
pub(crate) struct Watch {
    feed: Arc<Feed>,
    watcher: Arc<Watcher>,
}

impl Feed {
    /// Subscribes to changes of a URI.
    pub fn watch(self: &Arc<Self>, uri: &str) -> Watch {
        let mut all = lock(&self.0);
        let pending = Mutex::new(Pending { closed: all.closed, ..Pending::default() });
        let watcher = Arc::new(Watcher { uri: uri.to_string(), pending, wake: Notify::new() });
        all.watchers.push(watcher.clone());
        Watch { feed: self.clone(), watcher }
    }

    /// Notifies watchers of this URI, or of a parent that ends with a slash.
    pub fn publish(&self, uri: &str) {
        for w in &lock(&self.0).watchers {
            if uri == w.uri || (w.uri.ends_with('/') && uri.starts_with(&w.uri)) {
                let mut pending = lock(&w.pending);
                if pending.uris.len() == MAX_PENDING && !pending.uris.contains(uri) {
                    pending.uris = BTreeSet::from([w.uri.clone()]);
                } else {
                    pending.uris.insert(uri.to_string());
                }
                w.wake.notify_one();
            }
        }
    }

    /// Ends all watches. New ones fail.
    pub fn close(&self) {
        let mut all = lock(&self.0);
        all.closed = true;
        for w in &all.watchers {
            lock(&w.pending).closed = true;
            w.wake.notify_one();
        }
    }
}

impl Watch {
    /// Returns the URIs that changed; UNAVAILABLE if the feed is closed.
    pub async fn changed(&self) -> Result<BTreeSet<String>, Status> {
        loop {
            {
                let mut pending = lock(&self.watcher.pending);
                if !pending.uris.is_empty() {
                    return Ok(mem::take(&mut pending.uris));
                }
                if pending.closed {
                    return Err(Status::unavailable("the service is shutting down; watch again"));
                }
            }
            self.watcher.wake.notified().await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        lock(&self.feed.0).watchers.retain(|w| !Arc::ptr_eq(w, &self.watcher));
    }
}

/// Locks a mutex, also after a panic of another holder: the values are consistent at each step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
