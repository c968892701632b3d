//! Entries by key, in the order of their registration.

use crate::feed::Feed;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

/// Every change is published.
pub(crate) struct Registry<E> {
    changes: Arc<Feed>,
    entries: RwLock<Entries<E>>,
}

struct Entries<E> {
    next: u64,
    places: HashMap<String, u64>,
    ordered: BTreeMap<u64, Arc<E>>,
}

impl<E> Registry<E> {
    pub fn new(changes: Arc<Feed>) -> Self {
        let entries = Entries { next: 0, places: HashMap::new(), ordered: BTreeMap::new() };
        Self { changes, entries: RwLock::new(entries) }
    }

    /// False: the key is taken, and nothing changed.
    pub fn add(&self, key: &str, entry: E) -> bool {
        {
            let mut e = self.entries.write().unwrap_or_else(PoisonError::into_inner);
            if e.places.contains_key(key) {
                return false;
            }
            let place = e.next;
            e.next += 1;
            e.places.insert(key.to_string(), place);
            e.ordered.insert(place, Arc::new(entry));
        }
        self.changes.publish("");
        true
    }

    /// Whether there was such an entry.
    pub fn remove(&self, key: &str) -> bool {
        {
            let mut e = self.entries.write().unwrap_or_else(PoisonError::into_inner);
            let Some(place) = e.places.remove(key) else { return false };
            e.ordered.remove(&place);
        }
        self.changes.publish("");
        true
    }

    pub fn get(&self, key: &str) -> Option<Arc<E>> {
        let e = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        e.ordered.get(e.places.get(key)?).cloned()
    }

    pub fn all(&self) -> Vec<Arc<E>> {
        let e = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        e.ordered.values().cloned().collect()
    }
}
