//! The Server: a service's tools, resources and prompts.

use crate::content::cache_hint;
use crate::contract::{self, CacheHint};
use crate::failure::DefinitionError;
use crate::feed::{Feed, lock};
use crate::handler::Handler;
use crate::log::{Log, Logger};
use crate::prompts::Prompt;
use crate::providers::{Provided, ResourceProvider};
use crate::registry::Registry;
use crate::resources::{Resource, ResourceTemplate};
use crate::skills::SkillProvider;
use crate::tools::{Tool, ToolOutput};
use crate::types::Icon;
use serde_json::Value;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// A service's tools, resources and prompts, served by the gRPC contract. Everything may be added and removed at any
/// time, from any task and thread: watchers are notified. Clones are of the same server. It is served once: after
/// `close` it stays closed.
#[derive(Clone)]
pub struct Server {
    pub(crate) about: About,
    pub(crate) offers: Arc<Offers>,
}

#[derive(Clone, Default)]
pub(crate) struct About {
    pub info: contract::Implementation,
    pub instructions: String,
    pub extensions: HashMap<String, String>,
    pub list_cache: Option<CacheHint>,
    pub announced: Vec<Kind>,
    pub grace: Duration,
    pub mask_errors: bool,
    #[cfg(feature = "identity")]
    pub identity: Option<crate::identity::Identities>,
    pub log: Log,
}

pub(crate) struct Offers {
    pub tools: Registry<Tool>,
    pub prompts: Registry<Prompt>,
    pub resources: Registry<Resource>,
    /// The templates, whose change feed is that of the resources.
    pub templates: Registry<ResourceTemplate>,
    providers: RwLock<Vec<Arc<Provided>>>,
    /// The feed of changed contents.
    pub updates: Arc<Feed>,
    /// The definitions that `with`, `tool` and `provide` refused.
    mistakes: Mutex<Vec<String>>,
}

/// The kinds of definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tools,
    Resources,
    Prompts,
}

/// A [`Tool`], a [`Resource`], a [`ResourceTemplate`] or a [`Prompt`].
pub trait Definition {
    #[doc(hidden)]
    fn add_to(self, server: &Server) -> Result<(), DefinitionError>;
}

macro_rules! definition {
    ($type:ty, $registry:ident, $key:ident) => {
        impl Definition for $type {
            fn add_to(self, server: &Server) -> Result<(), DefinitionError> {
                let key = self.listed.$key.clone();
                self.check().and_then(|()| server.offers.$registry.add(&key, self)).map_err(DefinitionError)
            }
        }
    };
}

definition!(Tool, tools, name);
definition!(Prompt, prompts, name);
definition!(Resource, resources, uri);
definition!(ResourceTemplate, templates, uri_template);

/// Methods that set one option of a server.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) => $($field:ident).+ = $made:expr;)+) => {
        $($(#[$doc])*
        pub fn $name(mut self, $value: $type) -> Self {
            self.about.$($field).+ = $made;
            self
        })+
    };
}

impl Server {
    /// Name and version are shown to operators, and to clients if this is the edge's only backend.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let info = contract::Implementation { name: name.into(), version: version.into(), ..Default::default() };
        let about = About { info, grace: Duration::from_secs(10), ..Default::default() };
        let resource_changes = Arc::<Feed>::default();
        let offers = Offers {
            tools: Registry::new("tool", Arc::default()),
            prompts: Registry::new("prompt", Arc::default()),
            resources: Registry::new("resource", resource_changes.clone()),
            templates: Registry::new("resource template", resource_changes),
            providers: RwLock::default(),
            updates: Arc::default(),
            mistakes: Mutex::default(),
        };
        Self { about, offers: Arc::new(offers) }
    }

    setters! {
        /// Sets the name for people.
        title(title: impl Into<String>) => info.title = title.into();
        /// Sets the description, for people.
        description(description: impl Into<String>) => info.description = description.into();
        /// Sets the URL of the service's web site.
        website(url: impl Into<String>) => info.website_url = url.into();
        /// Sets the icons.
        icons(icons: Vec<Icon>) => info.icons = icons.into_iter().map(Icon::into_wire).collect();
        /// Sets the instructions for the model.
        instructions(text: impl Into<String>) => instructions = text.into();
        /// Sets how long running calls may take to finish at a shutdown; the default is ten seconds.
        grace(grace: Duration) => grace = grace;
        /// Sets the service's own log; the default is JSON on standard error.
        logger(logger: Logger) => log = Log(logger);
        /// Hides errors without a reason: clients see that there was a fault, and the log has the text. `Failure`, `tonic::Status` and `Unanswered`
        /// are shown. By default all errors of handlers are shown.
        mask_errors(mask: bool) => mask_errors = mask;
    }

    /// Refuses work without an identity signed by the edge. Without it, the connection is trusted.
    #[cfg(feature = "identity")]
    pub fn identity(mut self, identities: crate::identity::Identities) -> Self {
        self.about.identity = Some(identities);
        self
    }

    /// Announces a protocol extension by its id, with its settings, a JSON object.
    pub fn extension(mut self, id: impl Into<String>, settings: &Value) -> Self {
        self.about.extensions.insert(id.into(), settings.to_string());
        self
    }

    /// Sets how long clients may cache the lists, and whether callers may share the cache entries; by default nothing is cached.
    pub fn list_cache(mut self, ttl: Duration, shared: bool) -> Self {
        self.about.list_cache = Some(cache_hint(ttl, shared));
        self
    }

    /// Announces a kind even if there are no entries when the edge connects.
    pub fn announce(mut self, kind: Kind) -> Self {
        self.about.announced.push(kind);
        self
    }

    /// Adds a tool without options: see [`Tool::new`]. An invalid definition is an error of `check` and of `serve`.
    #[track_caller]
    pub fn tool<M, H>(self, name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: ToolOutput,
    {
        self.with(Tool::new(name, description, handler))
    }

    /// Adds a [`Tool`], a [`Resource`], a [`ResourceTemplate`] or a [`Prompt`]. An invalid definition is an error of
    /// `check` and of `serve`, with the line of this call.
    #[track_caller]
    pub fn with(self, definition: impl Definition) -> Self {
        let added = self.add(definition).map_err(|e| e.0);
        self.noted(added)
    }

    /// Stores the error of a definition.
    #[track_caller]
    fn noted(self, added: Result<(), String>) -> Self {
        if let Err(mistake) = added {
            let at = Location::caller();
            lock(&self.offers.mistakes).push(format!("{}:{}: {mistake}", at.file(), at.line()));
        }
        self
    }

    /// Returns an error with all invalid definitions of `tool`, `with` and `provide`, one line for each; `serve` calls it.
    pub fn check(&self) -> Result<(), DefinitionError> {
        let mistakes = lock(&self.offers.mistakes);
        if mistakes.is_empty() { Ok(()) } else { Err(DefinitionError(mistakes.join("\n"))) }
    }

    /// Adds a definition, also while the server runs; an error if it is invalid.
    pub fn add(&self, definition: impl Definition) -> Result<(), DefinitionError> {
        definition.add_to(self)
    }

    /// Removes a tool, and returns whether it existed. Running calls continue.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.offers.tools.remove(name)
    }

    /// Removes a resource or a template, and returns whether it existed.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.offers.resources.remove(uri) || self.offers.templates.remove(uri)
    }

    /// Removes a prompt, and returns whether it existed. Running calls continue.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.offers.prompts.remove(name)
    }

    /// Serves every URI that begins with the prefix by a provider. Exact resources and templates take precedence, and
    /// so does a longer prefix. A prefix that is empty, or has a provider already, is an error of `check` and of `serve`.
    #[track_caller]
    pub fn provide(self, prefix: &str, provider: impl ResourceProvider) -> Self {
        let added = self.add_provider(Provided::new(prefix, Arc::new(provider), None));
        self.noted(added)
    }

    /// As `provide`, by a provider with skills, such as a [`SkillFolder`](crate::skills::SkillFolder).
    #[track_caller]
    pub fn provide_skills(self, prefix: &str, provider: impl SkillProvider) -> Self {
        let provider = Arc::new(provider);
        let added = self.add_provider(Provided::new(prefix, provider.clone(), Some(provider)));
        self.noted(added)
    }

    fn add_provider(&self, provided: Provided) -> Result<(), String> {
        let prefix = &provided.prefix;
        if prefix.is_empty() {
            return Err("a provider has no prefix; give it one of its URIs, as notes://".to_string());
        }
        let mut all = self.offers.providers.write().unwrap_or_else(PoisonError::into_inner);
        if all.iter().any(|p| p.prefix == *prefix) {
            return Err(format!("there is a provider of {prefix:?} already; give this one another prefix"));
        }
        all.push(Arc::new(provided));
        drop(all);
        self.resources_changed();
        Ok(())
    }

    pub(crate) fn providers(&self) -> Vec<Arc<Provided>> {
        self.offers.providers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn provider(&self, uri: &str) -> Option<Arc<Provided>> {
        self.providers().into_iter().filter(|p| uri.starts_with(&p.prefix)).max_by_key(|p| p.prefix.len())
    }

    /// Notifies watchers that the list of tools has changed. Adding and removing does so, too.
    pub fn tools_changed(&self) {
        self.offers.tools.changes.publish("");
    }

    /// Notifies watchers that the list of prompts has changed. Adding and removing does so, too.
    pub fn prompts_changed(&self) {
        self.offers.prompts.changes.publish("");
    }

    /// Notifies watchers that the resources or templates have changed. Adding and removing does so, too; it is for
    /// providers whose list changed.
    pub fn resources_changed(&self) {
        self.offers.resources.changes.publish("");
    }

    /// Notifies watchers of this URI, or of a parent (a URI that ends with a slash), that it has changed.
    pub fn resource_updated(&self, uri: &str) {
        self.offers.updates.publish(uri);
    }

    /// Ends all change feeds; new ones fail. `serve` calls it. With your own gRPC server, call it before that server stops.
    pub fn close(&self) {
        let offers = &self.offers;
        for feed in [&offers.tools.changes, &offers.prompts.changes, &offers.resources.changes, &offers.updates] {
            feed.close();
        }
    }
}
