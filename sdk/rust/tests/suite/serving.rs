use mcpedge_capability::contract::tool_service_server::SERVICE_NAME;
use mcpedge_capability::{Listener, Server, TlsFiles};
use prost::Message;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tonic::Code;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// The health statuses that a server sends on one connection. Dropping it disconnects.
struct Health(h2::RecvStream);

impl Health {
    /// Calls `Check` or `Watch` for a service.
    async fn call(io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, method: &str, service: &str) -> Result<Self, h2::Error> {
        let (client, connection) = h2::client::handshake(io).await?;
        tokio::spawn(connection);
        let request = http::Request::post(format!("http://localhost/grpc.health.v1.Health/{method}"));
        let request = request.header("content-type", "application/grpc").header("te", "trailers").body(()).unwrap();
        let (response, mut body) = client.ready().await?.send_request(request, false)?;
        let message = HealthCheckRequest { service: service.to_string() }.encode_to_vec();
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        body.send_data([&[0], &length[..], &message].concat().into(), true)?;
        Ok(Self(response.await?.into_body()))
    }

    /// The next status.
    async fn status(&mut self) -> Result<ServingStatus, h2::Error> {
        let mut message = Vec::new();
        while message.len() < 5 || message.len() < 5 + usize::from(message[4]) {
            message.extend(self.0.data().await.expect("a message")?);
        }
        Ok(HealthCheckResponse::decode(&message[5..]).unwrap().status())
    }
}

#[tokio::test]
async fn it_is_healthy_until_it_stops_and_ends_its_feeds() {
    let server = Server::new("test", "1.0.0").tool("t", "", || async {}).grace(Duration::from_secs(3600));
    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.address();
    assert!(Listener::bind(&address).await.unwrap_err().to_string().contains("cannot listen on 127.0.0.1:"));
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let stopped = async { stopped.await.unwrap_or_default() };
        server.serve_on(listener, None, stopped).await.map_err(|e| e.to_string())
    });
    let connect = || async { TcpStream::connect(&address).await.unwrap() };
    let mut check = Health::call(connect().await, "Check", SERVICE_NAME).await.unwrap();
    assert_eq!(check.status().await.unwrap(), ServingStatus::Serving);
    let mut watch = Health::call(connect().await, "Watch", SERVICE_NAME).await.unwrap();
    assert_eq!(watch.status().await.unwrap(), ServingStatus::Serving);
    stop.send(()).unwrap();
    assert_eq!(watch.status().await.unwrap(), ServingStatus::NotServing);
    drop((watch, check));
    let ended = tokio::time::timeout(crate::PATIENCE, serving).await.expect("it waits for its grace");
    assert_eq!(ended.unwrap(), Ok(()));
}

#[tokio::test]
async fn an_unused_unix_socket_is_replaced() {
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
async fn a_unix_socket_replaces_no_other_file_and_is_removed_at_the_end() {
    let path = std::env::temp_dir().join(format!("mcpedge-rust-file-{}", std::process::id()));
    let address = format!("unix:{}", path.display());
    std::fs::write(&path, "precious").unwrap();
    let said = Listener::bind(&address).await.unwrap_err().to_string();
    assert!(said.contains(&address) && said.contains("is there and is no socket"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(&path).unwrap();
    let listener = Listener::bind(&address).await.unwrap();
    Server::new("test", "1.0.0").serve_on(listener, None, async {}).await.unwrap();
    assert!(!path.exists(), "the socket is left");
}

#[tokio::test]
async fn addresses_are_host_and_port_or_port_alone() {
    assert!(Listener::bind(":0").await.unwrap().address().rsplit_once(':').unwrap().1 != "0");
    for wrong in ["foo", "a:x", ""] {
        let said = Listener::bind(wrong).await.unwrap_err().to_string();
        assert!(said.contains("must be host:port, :port or unix:/path"), "{said}");
    }
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
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};
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
    let (cert, key) = (CertificateDer::from_pem_file(cert).unwrap(), PrivateKeyDer::from_pem_file(key).unwrap());
    let mut roots = RootCertStore::empty();
    roots.add(cert.clone()).unwrap();
    let trusting = ClientConfig::builder().with_root_certificates(roots);
    let known = trusting.clone().with_client_auth_cert(vec![cert], key).unwrap();
    for (mut tls, ok) in [(known, true), (trusting.with_no_client_auth(), false)] {
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let checked = async {
            let tcp = TcpStream::connect(&address).await.ok()?;
            let io = TlsConnector::from(Arc::new(tls)).connect(ServerName::try_from("127.0.0.1").unwrap(), tcp).await.ok()?;
            Health::call(io, "Check", "").await.ok()?.status().await.ok()
        };
        assert_eq!(checked.await.is_some(), ok);
    }
    serving.abort();
    std::fs::remove_dir_all(folder).unwrap();
}
