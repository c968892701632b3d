//! ResourceService.

use super::work::{Message, Round};
use super::{Service, Streaming, Unary, feed};
use crate::Call;
use crate::answers::Answers;
use crate::contract::resource_service_server::ResourceService;
use crate::contract::*;
use crate::failure::{Failure, internal, of_read, quote};
use crate::handler::Work;
use crate::page::page;
use crate::resources::complete;
use crate::rounds::plainly;
use crate::skills::SkillProvider;
use std::collections::HashMap;
use std::sync::Arc;
use tonic::codegen::BoxStream;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, async_trait};

type Reader = Box<dyn FnOnce(Call) -> Result<Work<Vec<crate::ResourceContents>>, Failure> + Send>;

impl Service {
    /// Returns the reader of a URI: that of a resource, a template or a provider.
    fn reader(&self, uri: &str) -> Option<Reader> {
        let offers = &self.0.offers;
        if let Some(resource) = offers.resources.get(uri) {
            return Some(Box::new(move |call| (resource.read)(call, &HashMap::new(), resource.listed.mime_type.clone())));
        }
        if let Some((values, template)) = offers.templates.all().into_iter().find_map(|t| Some((t.matches(uri)?, t))) {
            return Some(Box::new(move |call| (template.read)(call, &values, template.listed.mime_type.clone())));
        }
        let provider = self.0.provider(uri)?.provider.clone();
        Some(Box::new(move |call| {
            Ok(Box::pin(async move {
                let contents = provider.read(call.clone()).await?;
                complete(call.uri(), "", contents)
            }))
        }))
    }
}

impl Service {
    /// Returns the skill provider of a URI, and the call with its caller; NOT_FOUND if there is none.
    async fn skills_of(
        &self, metadata: &MetadataMap, uri: &str, context: Option<RequestContext>,
    ) -> Result<(Arc<dyn SkillProvider>, Call), Status> {
        let call = Call::new(context, uri, super::work::deadline(metadata), None, Answers::default());
        self.identify(metadata, &call).await?;
        let provider = self.0.provider(uri).and_then(|p| p.skills.clone());
        Ok((provider.ok_or_else(|| Failure::not_found("skill", uri).into_status())?, call))
    }
}

#[async_trait]
impl ResourceService for Service {
    type ReadResourceStream = BoxStream<ReadResourceResponse>;
    type WatchResourcesStream = BoxStream<WatchResourcesResponse>;
    type WatchResourceStream = BoxStream<WatchResourceResponse>;

    async fn list_resources(&self, request: Request<ListResourcesRequest>) -> Unary<ListResourcesResponse> {
        let r = request.into_inner();
        let mut provided = Vec::new();
        for p in self.0.providers() {
            provided.extend(p.list(&self.0.about).await?);
        }
        let own = self.0.offers.resources.all();
        let all: Vec<&Resource> = own.iter().map(|r| &r.listed).chain(&provided).collect();
        let (resources, next_page_token) = page(&all, |r| *r, |r| &r.uri, &r.page_token, r.page_size)?;
        Ok(Response::new(ListResourcesResponse { resources, next_page_token, cache: self.0.about.list_cache }))
    }

    async fn list_resource_templates(&self, request: Request<ListResourceTemplatesRequest>) -> Unary<ListResourceTemplatesResponse> {
        let r = request.into_inner();
        let all = self.0.offers.templates.all();
        let (resource_templates, next_page_token) = page(&all, |t| &t.listed, |t| &t.uri_template, &r.page_token, r.page_size)?;
        let cache = self.0.about.list_cache;
        Ok(Response::new(ListResourceTemplatesResponse { resource_templates, next_page_token, cache }))
    }

    async fn read_resource(&self, request: Request<ReadResourceRequest>) -> Streaming<ReadResourceResponse> {
        let (metadata, _, r) = request.into_parts();
        let round = Round { metadata: &metadata, context: r.context, responses: r.input_responses, state: r.state, uri: &r.uri };
        let find = |call: &Call| match self.reader(&r.uri) {
            Some(read) => read(call.clone()),
            None => Err(Failure::not_found("resource", &r.uri)),
        };
        let uri = r.uri.clone();
        self.work(format!("read of {}", quote(&r.uri)), round, find, move |e| Err(of_read(&uri, e))).await
    }

    async fn complete_resource_template(
        &self, request: Request<CompleteResourceTemplateRequest>,
    ) -> Unary<CompleteResourceTemplateResponse> {
        let (metadata, _, r) = request.into_parts();
        let template = self.0.offers.templates.find(&r.uri_template).map_err(Failure::into_status)?;
        let CompleteResourceTemplateRequest { uri_template: name, argument_name, argument_value, context_arguments, context } = r;
        let r = CompletePromptRequest { name, argument_name, argument_value, context_arguments, context };
        let method = (ReadResourceResponse::METHOD.0, "CompleteResourceTemplate");
        let found = self.complete("resource template", &template.completers, r, &metadata, method).await?;
        let CompletePromptResponse { values, total, has_more } = found;
        Ok(Response::new(CompleteResourceTemplateResponse { values, total, has_more }))
    }

    async fn watch_resources(&self, _: Request<WatchResourcesRequest>) -> Streaming<WatchResourcesResponse> {
        use watch_resources_response::Event;
        let event = |e| WatchResourcesResponse { event: Some(e) };
        let changed = move |_| event(Event::Changed(ListChanged {}));
        let server = self.0.clone();
        // The change may be a new provider.
        let hold = move || hold(server.clone(), |_| true);
        feed(self.0.offers.resources.changes.watch(""), event(Event::Started(WatchStarted {})), changed, hold)
    }

    async fn watch_resource(&self, request: Request<WatchResourceRequest>) -> Streaming<WatchResourceResponse> {
        use watch_resource_response::Event;
        let uri = request.into_inner().uri;
        let parent = uri.ends_with('/');
        if !parent && self.reader(&uri).is_none() {
            return Err(Failure::not_found("resource", &uri).into_status());
        }
        let event = |e| WatchResourceResponse { event: Some(e) };
        let updated = move |uri| event(Event::Updated(ResourceUpdated { uri }));
        let (server, watch) = (self.0.clone(), self.0.offers.updates.watch(&uri));
        let hold = move || {
            let uri = uri.clone();
            hold(server.clone(), move |prefix| uri.starts_with(prefix) || (parent && prefix.starts_with(&uri)))
        };
        feed(watch, event(Event::Started(WatchStarted {})), updated, hold)
    }

    async fn list_skills(&self, request: Request<ListSkillsRequest>) -> Unary<ListSkillsResponse> {
        let (mut all, mut served) = (Vec::new(), false);
        for p in self.0.providers() {
            let Some(provider) = p.skills.clone() else { continue };
            served = true;
            let work = Box::pin(async move { provider.skills().await });
            let found = plainly(&self.0.about, &format!("skills of {}", p.prefix), &crate::providers::no_call(), work, internal).await?;
            all.extend(found.into_iter().map(crate::skills::Skill::into_wire));
        }
        if !served {
            return Err(Status::unimplemented("there are no skills"));
        }
        let r = request.into_inner();
        let (skills, next_page_token) = page(&all, |s| s, |s| &s.uri, &r.page_token, r.page_size)?;
        Ok(Response::new(ListSkillsResponse { skills, next_page_token, cache: self.0.about.list_cache }))
    }

    async fn get_skill(&self, request: Request<GetSkillRequest>) -> Unary<GetSkillResponse> {
        let (metadata, _, r) = request.into_parts();
        let (provider, call) = self.skills_of(&metadata, &r.uri, r.context).await?;
        let (uri, own) = (r.uri.clone(), call.clone());
        let work = Box::pin(async move { provider.skill(own, &uri).await });
        let what = format!("skill {}", quote(&r.uri));
        let found = plainly(&self.0.about, &what, &call, work, |e| of_read(&r.uri, e)).await?;
        let skill = found.ok_or_else(|| Failure::not_found("skill", &r.uri).into_status())?;
        let cache = call.memory().cache;
        Ok(Response::new(GetSkillResponse { skill: Some(skill.into_wire()), cache }))
    }

    async fn list_resource_directory(&self, request: Request<ListResourceDirectoryRequest>) -> Unary<ListResourceDirectoryResponse> {
        let (metadata, _, r) = request.into_parts();
        let (provider, call) = self.skills_of(&metadata, &r.uri, r.context).await?;
        let (uri, own) = (r.uri.clone(), call.clone());
        let work = Box::pin(async move { provider.directory(own, &uri).await });
        let what = format!("directory {}", quote(&r.uri));
        let found = plainly(&self.0.about, &what, &call, work, |e| of_read(&r.uri, e)).await?;
        let children = found.ok_or_else(|| Failure::not_found("directory", &r.uri).into_status())?;
        let children: Vec<Resource> = children.into_iter().map(crate::ResourceInfo::into_wire).collect();
        let (resources, next_page_token) = page(&children, |r| r, |r| &r.uri, &r.page_token, 0)?;
        Ok(Response::new(ListResourceDirectoryResponse { resources, next_page_token }))
    }
}

/// Watches the providers with a matching prefix, until the result is dropped.
async fn hold(server: crate::Server, fits: impl Fn(&str) -> bool + Send) -> Result<Vec<Arc<Option<crate::Watching>>>, Status> {
    let mut held = Vec::new();
    for p in server.providers() {
        if fits(&p.prefix) {
            held.push(p.watch(&server).await?);
        }
    }
    Ok(held)
}
