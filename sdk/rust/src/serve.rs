//! Serves a Server, as a complete program or on a listener.

use crate::contract::DESCRIPTORS;
use crate::contract::backend_service_server::{BackendServiceServer, SERVICE_NAME as BACKENDS};
use crate::contract::prompt_service_server::{PromptServiceServer, SERVICE_NAME as PROMPTS};
use crate::contract::resource_service_server::{ResourceServiceServer, SERVICE_NAME as RESOURCES};
use crate::contract::tool_service_server::{SERVICE_NAME as TOOLS, ToolServiceServer};
use crate::failure::{DefinitionError, Error};
use crate::server::Server;
use crate::services::Service;
use serde_json::json;
use std::error::Error as StdError;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tonic::service::Routes;
use tonic::transport::{Server as Transport, server::Router, server::TcpIncoming};
use tonic_health::ServingStatus;

/// The maximum size of a message in either direction.
pub(crate) const MESSAGE_BYTES: usize = 16 << 20;
const LISTEN: &str = "127.0.0.1:50051";

/// The files of a server with TLS, in PEM.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// The certificate chain of the service.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// The CA of client certificates; `None` if clients need none.
    pub client_ca: Option<PathBuf>,
}

/// Where a server listens.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

impl Listener {
    /// Listens on host:port, on :port of all addresses, or on unix:/path, where an unused socket is replaced; any other
    /// file there is an error.
    pub async fn bind(address: &str) -> io::Result<Self> {
        let failed = |e: io::Error| io::Error::new(e.kind(), format!("cannot listen on {address}: {e}"));
        #[cfg(unix)]
        if let Some(path) = address.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path); // unix:///absolute/path
            let bound = match UnixListener::bind(path) {
                Err(e) if e.kind() == io::ErrorKind::AddrInUse => match UnixStream::connect(path).await {
                    Err(_) if !is_socket(path) => {
                        Err(io::Error::new(e.kind(), "it is there and is no socket; remove it, or name another path"))
                    }
                    Err(probe) if probe.kind() == io::ErrorKind::ConnectionRefused => {
                        std::fs::remove_file(path).and_then(|()| UnixListener::bind(path))
                    }
                    _ => Err(e),
                },
                bound => bound,
            };
            return bound.map(Self::Unix).map_err(failed);
        }
        let (host, port) = address.rsplit_once(':').unwrap_or_default();
        let Ok(port) = port.parse::<u16>() else {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it must be host:port, :port or unix:/path")));
        };
        let everywhere: [SocketAddr; 2] = [(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()];
        let bound = if host.is_empty() { TcpListener::bind(&everywhere[..]).await } else { TcpListener::bind(address).await };
        bound.map(Self::Tcp).map_err(failed)
    }

    /// Returns the address as a target of an edge, with the chosen port if it was 0.
    pub fn address(&self) -> String {
        match self {
            Self::Tcp(l) => l.local_addr().map(|a| a.to_string()).unwrap_or_default(),
            #[cfg(unix)]
            Self::Unix(l) => {
                let path = l.local_addr().ok().and_then(|a| a.as_pathname().map(|p| p.display().to_string()));
                format!("unix:{}", path.unwrap_or_default())
            }
        }
    }
}

#[cfg(unix)]
fn is_socket(path: &str) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket())
}

impl Server {
    /// Returns the contract's services, for a gRPC server of your own, without health and reflection; an error if a definition is invalid.
    pub fn routes(&self) -> Result<Routes, DefinitionError> {
        self.check()?;
        macro_rules! sized {
            ($server:ident) => {
                $server::new(Service(self.clone())).max_decoding_message_size(MESSAGE_BYTES).max_encoding_message_size(MESSAGE_BYTES)
            };
        }
        Ok(Routes::new(sized!(BackendServiceServer))
            .add_service(sized!(ToolServiceServer))
            .add_service(sized!(ResourceServiceServer))
            .add_service(sized!(PromptServiceServer)))
    }

    /// Runs as a complete program: reads the command line (`--listen`, and TLS by `--tls-cert`, `--tls-key` and `--tls-client-ca`), logs to
    /// standard error, serves until SIGTERM or SIGINT, and shuts down gracefully. It exits with status 2 if the command line is invalid. An
    /// invalid definition is an error.
    pub async fn serve(self) -> Result<(), Error> {
        let flags = Flags::read(std::env::args().skip(1)).unwrap_or_else(|problem| {
            eprintln!("{problem}\n{}", Flags::usage(&self.about.info.name));
            std::process::exit(2);
        });
        if flags.help {
            println!("{}", Flags::usage(&self.about.info.name));
            return Ok(());
        }
        self.check()?;
        let served = async {
            let stop = stopped()?;
            self.serve_on(Listener::bind(&flags.listen).await?, flags.tls, stop).await
        };
        served.await.map_err(|e| in_words(&*e).into())
    }

    /// Serves until `stop` is ready: then the health service reports NOT_SERVING, change feeds end, and running calls have the server's grace to
    /// finish. It has the standard health service, reflection, and messages of up to 16 MiB. It logs the address.
    pub async fn serve_on(&self, listener: Listener, tls: Option<TlsFiles>, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let (health, health_service) = tonic_health::server::health_reporter();
        let names = ["", BACKENDS, TOOLS, RESOURCES, PROMPTS];
        for name in names {
            health.set_service_status(name, ServingStatus::Serving).await;
        }
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let transport = if tls.is_some() { "with TLS" } else { "without TLS" };
        let routes =
            self.routes()?.add_service(health_service).add_service(reflection().build_v1()?).add_service(reflection().build_v1alpha()?);
        // One connection of an edge has the calls of all its clients: many of them may be abandoned at once.
        let router = with_tls(Transport::builder().http2_max_pending_accept_reset_streams(Some(1024)), tls)?.add_routes(routes);
        let (begin, begun) = oneshot::channel();
        let address = listener.address();
        self.about.log.info("serving", json!({"service": self.about.info.name, "address": address, "transport": transport}));
        let stop = async {
            stop.await;
            // While it still listens: later, another process may have bound the path.
            if let Some(path) = address.strip_prefix("unix:") {
                let _ = std::fs::remove_file(path); // it may be removed already
            }
            for name in names {
                health.set_service_status(name, ServingStatus::NotServing).await;
            }
            self.close();
            // There is no receiver any more when serving has failed.
            let _ = begin.send(());
        };
        let over = async {
            match begun.await {
                Ok(()) => tokio::time::sleep(self.about.grace).await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            served = serve(router, listener, stop) => Ok(served?),
            () = over => Ok(()),
        }
    }
}

async fn serve(router: Router, listener: Listener, stop: impl Future<Output = ()>) -> Result<(), tonic::transport::Error> {
    match listener {
        Listener::Tcp(l) => {
            let incoming = TcpIncoming::from(l).with_nodelay(Some(true));
            router.serve_with_incoming_shutdown(incoming, stop).await
        }
        #[cfg(unix)]
        Listener::Unix(l) => {
            let incoming = tokio_stream::wrappers::UnixListenerStream::new(l);
            router.serve_with_incoming_shutdown(incoming, stop).await
        }
    }
}

#[cfg(feature = "tls")]
fn with_tls(server: Transport, files: Option<TlsFiles>) -> Result<Transport, Error> {
    use tonic::transport::{Certificate, Identity, ServerTlsConfig};
    let Some(files) = files else { return Ok(server) };
    let read = |path: &PathBuf| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let mut config = ServerTlsConfig::new().identity(Identity::from_pem(read(&files.cert)?, read(&files.key)?));
    if let Some(ca) = &files.client_ca {
        config = config.client_ca_root(Certificate::from_pem(read(ca)?));
    }
    Ok(server.tls_config(config)?)
}

#[cfg(not(feature = "tls"))]
fn with_tls(server: Transport, files: Option<TlsFiles>) -> Result<Transport, Error> {
    match files {
        None => Ok(server),
        Some(_) => Err("this program was built without TLS: add the feature `tls` of mcpedge-capability".into()),
    }
}

/// Joins an error and its sources by colons. `main` prints the error that it returns by Debug, which is readable for a text only.
fn in_words(error: &(dyn StdError + 'static)) -> String {
    let all = std::iter::successors(Some(error), |&e| e.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Returns a future that is ready at SIGTERM or SIGINT.
fn stopped() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(async move {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        // Without a handler for the signal, only the system ends the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    })
}

#[derive(Debug)]
struct Flags {
    listen: String,
    tls: Option<TlsFiles>,
    help: bool,
}

impl Flags {
    fn usage(name: &str) -> String {
        format!(
            "Serves {name} to MCP Edge.\n\
             \x20 --listen ADDR         serve gRPC on host:port or unix:/path (default: {LISTEN})\n\
             \x20 --tls-cert FILE       certificate chain in PEM, with --tls-key\n\
             \x20 --tls-key FILE        its key in PEM\n\
             \x20 --tls-client-ca FILE  CA in PEM of the certificates that clients need"
        )
    }

    fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut listen, mut help, mut words) = (LISTEN.to_string(), false, words);
        let [mut cert, mut key, mut client_ca] = [None, None, None];
        while let Some(word) = words.next() {
            let (flag, given) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value.to_string())),
                None => (word.as_str(), None),
            };
            let mut value = || given.clone().or_else(|| words.next()).ok_or(format!("{flag} needs a value"));
            match flag {
                "--listen" => listen = value()?,
                "--tls-cert" => cert = Some(value()?.into()),
                "--tls-key" => key = Some(value()?.into()),
                "--tls-client-ca" => client_ca = Some(value()?.into()),
                "--help" | "-h" => help = true,
                _ => return Err(format!("unknown flag {word:?}")),
            }
        }
        let tls = match (cert, key, client_ca) {
            (None, None, None) => None,
            (Some(cert), Some(key), client_ca) => Some(TlsFiles { cert, key, client_ca }),
            _ => return Err("--tls-cert and --tls-key go together, and --tls-client-ca with them".to_string()),
        };
        Ok(Self { listen, tls, help })
    }
}

#[cfg(test)]
mod tests {
    use super::Flags;

    fn read(line: &str) -> Result<Flags, String> {
        Flags::read(line.split_whitespace().map(str::to_string))
    }

    #[test]
    fn flags_are_read_and_go_together() {
        assert_eq!(read("").unwrap().listen, "127.0.0.1:50051");
        assert_eq!(read("--listen=unix:/x").unwrap().listen, "unix:/x");
        let tls = read("--listen a:1 --tls-cert c --tls-key k").unwrap().tls.unwrap();
        assert_eq!((tls.cert.to_str(), tls.key.to_str(), tls.client_ca), (Some("c"), Some("k"), None));
        for wrong in ["--tls-cert c", "--tls-client-ca a", "--listen", "--lisen a:1", "a:1"] {
            assert!(read(wrong).is_err(), "{wrong} was taken");
        }
    }
}
