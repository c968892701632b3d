//! Providers: dynamic resources below a prefix.

use crate::Call;
use crate::answers::Answers;
use crate::failure::{Error, internal};
use crate::rounds::plainly;
use crate::server::{About, Server};
use crate::skills::SkillProvider;
use crate::types::{ResourceContents, ResourceInfo};
use std::any::Any;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::async_trait;

/// Serves dynamic resources: a directory, a table. Methods are called concurrently. Implement it under
/// `#[async_trait]`.
#[async_trait]
pub trait ResourceProvider: Send + Sync + 'static {
    /// All resources, in a stable order. Their URIs begin with the provider's prefix.
    async fn list(&self) -> Result<Vec<ResourceInfo>, Error> {
        Ok(Vec::new())
    }

    /// The contents of `Call::uri`, which begins with the prefix, listed or not; empty if it does not exist.
    async fn read(&self, call: Call) -> Result<Vec<ResourceContents>, Error>;

    /// Begins to watch: until the returned value is dropped, it reports every URI that changed, and changes of the
    /// result of `list`. At most one watch runs at a time, while there are watchers. `None` means that there is nothing
    /// to watch, or that the provider calls `Server::resource_updated` and `Server::resources_changed` instead.
    async fn watch(&self, _changes: Changes) -> Result<Option<Watching>, Error> {
        Ok(None)
    }
}

/// Receives the changes of a provider, from any task and thread.
#[derive(Clone)]
pub struct Changes(pub(crate) Server);

impl Changes {
    /// The contents of the URI have changed.
    pub fn updated(&self, uri: &str) {
        self.0.resource_updated(uri);
    }

    /// The result of the provider's list has changed.
    pub fn list_changed(&self) {
        self.0.resources_changed();
    }
}

/// Ends a provider's watch when it is dropped.
pub struct Watching(#[allow(dead_code)] Box<dyn Any + Send + Sync>);

impl Watching {
    /// Wraps a value whose drop ends the watch.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self(Box::new(guard))
    }

    /// Spawns a future that watches; it is dropped at the end of the watch.
    pub fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Self {
        let mut task = JoinSet::new();
        task.spawn(future);
        Self::new(task)
    }
}

/// A provider under its prefix, which is watched while there are watchers.
pub(crate) struct Provided {
    pub prefix: String,
    pub provider: Arc<dyn ResourceProvider>,
    /// The same provider, if it has skills.
    pub skills: Option<Arc<dyn SkillProvider>>,
    watching: Mutex<std::sync::Weak<Option<Watching>>>,
}

impl Provided {
    pub fn new(prefix: &str, provider: Arc<dyn ResourceProvider>, skills: Option<Arc<dyn SkillProvider>>) -> Self {
        Self { prefix: prefix.to_string(), provider, skills, watching: Mutex::default() }
    }

    pub async fn list(&self, about: &About) -> Result<Vec<crate::contract::Resource>, Status> {
        let provider = self.provider.clone();
        let work = Box::pin(async move { provider.list().await });
        let listed = plainly(about, &format!("list of {}", self.prefix), &no_call(), work, internal).await?;
        Ok(listed.into_iter().map(ResourceInfo::into_wire).collect())
    }

    /// Begins a watch of the provider, or joins the running one; it ends when all returned values are dropped.
    pub async fn watch(&self, server: &Server) -> Result<Arc<Option<Watching>>, Status> {
        let mut watching = self.watching.lock().await;
        if let Some(running) = watching.upgrade() {
            return Ok(running);
        }
        let (provider, changes) = (self.provider.clone(), Changes(server.clone()));
        let work = Box::pin(async move { provider.watch(changes).await });
        let begun = plainly(&server.about, &format!("watch of {}", self.prefix), &no_call(), work, internal).await;
        let begun = begun.map_err(|e| Status::unavailable(format!("{} cannot be watched: {}", self.prefix, e.message())))?;
        let running = Arc::new(begun);
        *watching = Arc::downgrade(&running);
        Ok(running)
    }
}

/// A call without a client.
pub(crate) fn no_call() -> Call {
    Call::new(None, "", None, None, Answers::default())
}
