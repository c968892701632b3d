use mcpedge_capability::contract::tool_service_server::SERVICE_NAME;
use mcpedge_capability::{Listener, Server, TlsFiles};
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
    let service = mcpedge_capability::Service(Server::new("test", "1.0.0"));
    let status = service.list_skills(tonic::Request::new(contract::ListSkillsRequest::default())).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
}

fn openssl(folder: &std::path::Path, arguments: &str) {
    let run = std::process::Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[tokio::test]
async fn clients_of_a_server_with_tls_need_a_certificate_where_it_says_so() {
    use tonic::transport::{Certificate, ClientTlsConfig, Identity};
    let folder = std::env::temp_dir().join(format!("mcpedge-rust-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let certificate = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost -addext \
                       subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
    openssl(&folder, certificate);
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let files = TlsFiles { cert: cert.clone(), key: key.clone(), client_ca: Some(cert.clone()) };
    let missing = TlsFiles { key: folder.join("none.pem"), ..files.clone() };
    let server = Server::new("test", "1.0.0");
    let bind = || Listener::bind("127.0.0.1:0");
    let failed = server.serve_on(bind().await.unwrap(), Some(missing), std::future::pending()).await.unwrap_err();
    assert!(failed.to_string().contains("none.pem: "), "{failed}");
    let listener = bind().await.unwrap();
    let address = listener.address();
    let serving =
        tokio::spawn(async move { server.serve_on(listener, Some(files), std::future::pending()).await.map_err(|e| e.to_string()) });
    let (cert, key) = (std::fs::read(cert).unwrap(), std::fs::read(key).unwrap());
    let trusting = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&cert));
    for (tls, ok) in [(trusting.clone().identity(Identity::from_pem(&cert, &key)), true), (trusting, false)] {
        let endpoint = Endpoint::from_shared(format!("https://{address}")).unwrap().tls_config(tls).unwrap();
        let checked = async { HealthClient::new(endpoint.connect().await.ok()?).check(HealthCheckRequest::default()).await.ok() }.await;
        assert_eq!(checked.is_some(), ok);
    }
    serving.abort();
    std::fs::remove_dir_all(folder).unwrap();
}
