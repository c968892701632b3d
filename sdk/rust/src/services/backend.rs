//! BackendService.

use super::{Service, Unary};
use crate::contract::backend_service_server::BackendService;
use crate::contract::{DescribeRequest, DescribeResponse, PromptFeatures, ResourceFeatures, ToolFeatures};
use crate::server::Kind;
use tonic::{Request, Response, async_trait};

#[async_trait]
impl BackendService for Service {
    /// Announces each kind that has an entry, or that was announced from the beginning.
    async fn describe(&self, _: Request<DescribeRequest>) -> Unary<DescribeResponse> {
        let (about, offers, providers) = (&self.0.about, &self.0.offers, self.0.providers());
        let (prompts, templates) = (offers.prompts.all(), offers.templates.all());
        let announced = |kind, is_there: bool| is_there || about.announced.contains(&kind);
        let has_resources = !offers.resources.all().is_empty() || !templates.is_empty() || !providers.is_empty();
        Ok(Response::new(DescribeResponse {
            implementation: Some(about.info.clone()),
            instructions: about.instructions.clone(),
            extensions_json: about.extensions.clone(),
            tools: announced(Kind::Tools, !offers.tools.all().is_empty()).then_some(ToolFeatures { list_changed: true }),
            resources: announced(Kind::Resources, has_resources).then(|| ResourceFeatures {
                list_changed: true,
                subscribe: true,
                completion: templates.iter().any(|t| !t.completers.0.is_empty()),
                uri_prefixes: providers.iter().map(|p| p.prefix.clone()).collect(),
                directories: providers.iter().any(|p| p.skills.is_some()),
            }),
            prompts: announced(Kind::Prompts, !prompts.is_empty())
                .then(|| PromptFeatures { list_changed: true, completion: prompts.iter().any(|p| !p.completers.0.is_empty()) }),
        }))
    }
}
