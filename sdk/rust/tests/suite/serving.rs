use mcpedge_capability::contract::tool_service_server::SERVICE_NAME;
use mcpedge_capability::{Listener, Server};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

async fn channel(address: &str) -> Channel {
    Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap()
}

#[tokio::test]
async fn it_is_healthy_until_it_stops_and_ends_its_feeds() {
    let server = Server::new("test", "1.0.0").tool("t", "", || async {}).grace(Duration::from_secs(5));
    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.address();
    assert!(Listener::bind(&address).await.unwrap_err().to_string().contains("cannot listen on 127.0.0.1:"));
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let stopped = async { stopped.await.unwrap_or_default() };
        server.serve_on(listener, None, stopped).await.map_err(|e| e.to_string())
    });
    let mut health = HealthClient::new(channel(&address).await);
    let request = || HealthCheckRequest { service: SERVICE_NAME.to_string() };
    assert_eq!(health.check(request()).await.unwrap().into_inner().status, 1);
    let mut watch = health.watch(request()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status, 1);
    stop.send(()).unwrap();
    assert_eq!(watch.message().await.unwrap().unwrap().status, 2);
    drop((watch, health));
    let began = Instant::now();
    assert_eq!(serving.await.unwrap(), Ok(()));
    assert!(began.elapsed() < Duration::from_secs(4), "it waited for its grace");
}

#[tokio::test]
async fn a_unix_socket_that_nobody_serves_is_replaced() {
    let path = std::env::temp_dir().join(format!("mcpedge-rust-{}.sock", std::process::id()));
    let address = format!("unix:{}", path.display());
    let first = Listener::bind(&address).await.unwrap();
    assert_eq!(first.address(), address);
    assert!(Listener::bind(&address).await.unwrap_err().to_string().contains("in use"));
    drop(first);
    Listener::bind(&address).await.unwrap();
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn what_is_not_offered_is_unimplemented() {
    use contract::resource_service_server::ResourceService;
    use mcpedge_capability::contract;
    let service = mcpedge_capability::testing::resource_service(&Server::new("test", "1.0.0"));
    let status = service.list_skills(tonic::Request::new(contract::ListSkillsRequest::default())).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
}
