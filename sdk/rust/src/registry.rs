//! Entries by key, in the order of their registration.

use crate::feed::Feed;
use indexmap::IndexMap;
use indexmap::map::Entry;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

/// Every change is published.
pub(crate) struct Registry<E> {
    pub changes: Arc<Feed>,
    entries: RwLock<IndexMap<String, Arc<E>>>,
}

impl<E> Registry<E> {
    pub fn new(changes: Arc<Feed>) -> Self {
        Self { changes, entries: RwLock::default() }
    }

    /// False: the key is taken, and nothing changed.
    pub fn add(&self, key: &str, entry: E) -> bool {
        match self.write().entry(key.to_string()) {
            Entry::Occupied(_) => return false,
            Entry::Vacant(place) => place.insert(Arc::new(entry)),
        };
        self.changes.publish("");
        true
    }

    /// Whether there was such an entry. It moves those behind it up: O(n).
    pub fn remove(&self, key: &str) -> bool {
        let removed = self.write().shift_remove(key).is_some();
        if removed {
            self.changes.publish("");
        }
        removed
    }

    pub fn get(&self, key: &str) -> Option<Arc<E>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub fn all(&self) -> Vec<Arc<E>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn write(&self) -> RwLockWriteGuard<'_, IndexMap<String, Arc<E>>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}
