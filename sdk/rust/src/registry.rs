//! Entries by key, in the order of their registration.

use crate::failure::Failure;
use crate::feed::Feed;
use indexmap::IndexMap;
use indexmap::map::Entry;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

/// The entries of one kind. Every change is published.
pub(crate) struct Registry<E> {
    /// The name of the kind, in messages.
    kind: &'static str,
    pub changes: Arc<Feed>,
    entries: RwLock<IndexMap<String, Arc<E>>>,
}

impl<E> Registry<E> {
    pub fn new(kind: &'static str, changes: Arc<Feed>) -> Self {
        Self { kind, changes, entries: RwLock::default() }
    }

    /// Adds an entry; an error if the key is taken.
    pub fn add(&self, key: &str, entry: E) -> Result<(), String> {
        match self.write().entry(key.to_string()) {
            Entry::Occupied(_) => {
                return Err(format!("there is a {} {key:?} already; give this one another name, or remove that one first", self.kind));
            }
            Entry::Vacant(place) => place.insert(Arc::new(entry)),
        };
        self.changes.publish("");
        Ok(())
    }

    /// Removes an entry, and returns whether it existed. It moves the later ones: O(n).
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

    /// Returns an entry; NOT_FOUND if there is none.
    pub fn find(&self, key: &str) -> Result<Arc<E>, Failure> {
        self.get(key).ok_or_else(|| Failure::not_found(self.kind, key))
    }

    pub fn all(&self) -> Vec<Arc<E>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn write(&self) -> RwLockWriteGuard<'_, IndexMap<String, Arc<E>>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}
