//! The garden service by tonic, tonic-reflection and tonic-health: garden --listen ADDR --health unset|serving.

use std::{
    error::Error,
    pin::Pin,
    process::exit,
    sync::Arc,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_stream::{Stream, StreamExt, iter};
use tonic::{
    Request, Response, Status, Streaming,
    body::Body,
    transport::{Server, server::TcpIncoming},
};
use tonic_health::{ServingStatus, server::HealthReporter};
use tower::util::MapRequestLayer;

mod garden {
    pub mod v1 {
        tonic::include_proto!("garden.v1");
    }
    pub mod common {
        pub mod v1 {
            tonic::include_proto!("garden.common.v1");
        }
    }
}
mod control {
    pub mod v1 {
        tonic::include_proto!("control.v1");
    }
}

use control::v1::{
    CountRequest, CountResponse, SetHealthRequest, SetHealthResponse,
    control_service_server::{ControlService, ControlServiceServer},
};
use garden::common::v1::Place;
use garden::v1::{
    Bed, GrowRequest, GrowResponse, Shoot, SowResponse, TickRequest, TickResponse,
    garden_service_server::{GardenService, GardenServiceServer},
};

/// How long calls have to end after SIGTERM, health watches among them. The status is 1 if one has not.
const GRACE: Duration = Duration::from_secs(10);

struct Garden;

#[tonic::async_trait]
impl GardenService for Garden {
    async fn plant(&self, request: Request<Bed>) -> Result<Response<Bed>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn locate(&self, request: Request<Place>) -> Result<Response<Place>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    type GrowStream = Pin<Box<dyn Stream<Item = Result<GrowResponse, Status>> + Send>>;

    async fn grow(&self, request: Request<GrowRequest>) -> Result<Response<Self::GrowStream>, Status> {
        let GrowRequest { kind, steps } = request.into_inner();
        let grown = (1..=steps).map(move |step| {
            let shoot = Shoot { kind: kind.clone(), ..Shoot::default() };
            Ok(GrowResponse { step, shoot: Some(shoot) })
        });
        Ok(Response::new(Box::pin(iter(grown))))
    }

    async fn tick(&self, request: Request<TickRequest>) -> Result<Response<TickResponse>, Status> {
        let TickRequest { id, wait } = request.into_inner();
        tokio::time::sleep(Duration::from_millis(wait.max(0) as u64)).await;
        println!("ticked {id}");
        Ok(Response::new(TickResponse { id }))
    }

    async fn sow(&self, request: Request<Streaming<Shoot>>) -> Result<Response<SowResponse>, Status> {
        let mut shoots = request.into_inner();
        let mut count = 0;
        while shoots.next().await.transpose()?.is_some() {
            count += 1;
        }
        Ok(Response::new(SowResponse { count }))
    }
}

struct Control {
    health: HealthReporter,
    watches: Arc<AtomicI64>,
}

#[tonic::async_trait]
impl ControlService for Control {
    async fn set_health(&self, request: Request<SetHealthRequest>) -> Result<Response<SetHealthResponse>, Status> {
        let status = match request.into_inner().serving {
            true => ServingStatus::Serving,
            false => ServingStatus::NotServing,
        };
        self.health.set_service_status("", status).await;
        Ok(Response::new(SetHealthResponse {}))
    }

    async fn count(&self, _: Request<CountRequest>) -> Result<Response<CountResponse>, Status> {
        Ok(Response::new(CountResponse { watches: self.watches.load(Ordering::SeqCst) }))
    }
}

/// The value of a flag.
fn flag(name: &str) -> String {
    std::env::args().skip_while(|a| a != name).nth(1).unwrap_or_else(|| panic!("{name} is missing"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut terminated = signal(SignalKind::terminate())?;
    let (mut health, health_service) = tonic_health::server::health_reporter();
    if flag("--health") == "unset" {
        health.clear_service_status("").await;
    }
    let watches = Arc::new(AtomicI64::new(0));
    let counted = watches.clone();
    let count = MapRequestLayer::new(move |request: http::Request<Body>| {
        if request.uri().path() == "/grpc.health.v1.Health/Watch" {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        request
    });
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(tonic::include_file_descriptor_set!("garden"))
        .build_v1()?;
    let incoming = TcpIncoming::bind(flag("--listen").parse()?)?.with_nodelay(Some(true));
    Server::builder()
        .layer(count)
        .add_service(health_service)
        .add_service(reflection)
        .add_service(GardenServiceServer::new(Garden))
        .add_service(ControlServiceServer::new(Control { health, watches }))
        .serve_with_incoming_shutdown(incoming, async move {
            terminated.recv().await;
            tokio::spawn(async {
                tokio::time::sleep(GRACE).await;
                exit(1);
            });
        })
        .await?;
    Ok(())
}
