//! Signed identities: a verified caller. It needs the feature `identity`.

use crate::failure::DefinitionError;
use crate::feed::lock;
use crate::types::Principal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tonic::Status;
use tonic::metadata::MetadataMap;

const METADATA: &str = "mcp-identity";
const TYPE: &str = "mcp-identity+jwt";
/// The tolerated difference between the clocks of the edge and of the service, in seconds.
const SKEW: f64 = 30.0;
/// The interval at which keys are fetched again while calls arrive.
const REFRESH: Duration = Duration::from_secs(300);
/// The minimum interval between two fetches for an unknown key or after a failed fetch.
const AGAIN: Duration = Duration::from_secs(1);
/// How long keys are used if they cannot be fetched again.
const KEPT: Duration = Duration::from_secs(3600);
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of a JWK Set, in bytes.
const BYTES: u64 = 1 << 20;

/// Verifies the caller, for `Server::identity`: work without an identity signed by the edge is refused with UNAUTHENTICATED, and
/// `Call::principal` is the signed identity, whatever the connection is. Lists and watches need none.
#[derive(Clone)]
pub struct Identities(Arc<Inner>);

type Read = Box<dyn Fn() -> Result<String, String> + Send + Sync>;
type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

struct Inner {
    url: String,
    audience: String,
    keys: Mutex<Keys>,
    /// Held during a fetch.
    fetching: tokio::sync::Mutex<()>,
    /// Reads the JWK Set; it may block.
    read: Read,
    /// The time since some moment.
    clock: Clock,
}

#[derive(Default)]
struct Keys {
    by_id: HashMap<String, Key>,
    /// The time of the last successful fetch.
    fetched: Option<Duration>,
    /// The time of the last attempt.
    tried: Option<Duration>,
    /// The number of attempts.
    attempts: u64,
    failed: String,
}

/// A public key with its only algorithm.
#[derive(Clone)]
enum Key {
    Ed25519(Vec<u8>),
    P256(Vec<u8>),
    P384(Vec<u8>),
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

impl Identities {
    /// `jwks_url` is the URL of the edge's public keys: /.well-known/jwks.json on its admin address. `audience` is the backend's name in the
    /// edge's settings, which have `identity: signed`. Keys are used for an hour if they cannot be fetched again; without keys, work is
    /// UNAVAILABLE. An error if one of them is empty.
    pub fn new(jwks_url: impl Into<String>, audience: impl Into<String>) -> Result<Self, DefinitionError> {
        let (url, audience) = (jwks_url.into(), audience.into());
        if url.is_empty() || audience.is_empty() {
            return Err(DefinitionError("Identities needs the URL of the edge's keys and the backend's name; give both".to_string()));
        }
        let (of, began) = (url.clone(), Instant::now());
        Ok(Self::with(url, audience, Box::new(move || fetch(&of)), Box::new(move || began.elapsed())))
    }

    fn with(url: String, audience: String, read: Read, clock: Clock) -> Self {
        Self(Arc::new(Inner { url, audience, keys: Mutex::default(), fetching: tokio::sync::Mutex::default(), read, clock }))
    }

    /// Returns the caller of the call with this id; UNAUTHENTICATED if the identity cannot be verified.
    pub(crate) async fn verify(&self, metadata: &MetadataMap, call: &str) -> Result<Principal, Status> {
        let sent: Vec<_> = metadata.get_all(METADATA).iter().collect();
        let [token] = sent[..] else {
            let text = "identities (metadata mcp-identity): have the edge sign one, with identity: signed of this backend";
            return Err(Status::unauthenticated(format!("the call has {} {text}", sent.len())));
        };
        let claims = self.claims(token.to_str().unwrap_or_default()).await?;
        if claims.txn.as_deref().is_none_or(|txn| txn.is_empty() || txn != call) {
            return Err(Status::unauthenticated("the identity is another call's: its txn is not the call_id"));
        }
        Ok(Principal {
            subject: claims.sub,
            issuer: claims.sub_id.iss,
            scopes: claims.scope.split_whitespace().map(str::to_string).collect(),
            roles: claims.roles,
            client_id: claims.client_id,
            actor: claims.act.sub,
            subject_is_client: claims.subject_is_client,
            claims: claims.claims,
        })
    }

    /// Verifies a JWS in its compact form (RFC 7515), and returns its claims.
    async fn claims(&self, token: &str) -> Result<Claims, Status> {
        let Some((signed, mac)) = token.rsplit_once('.') else { return Err(refused("it is no JWT")) };
        let Some((header, payload)) = signed.split_once('.') else { return Err(refused("it is no JWT")) };
        let head: Header = part(header)?;
        if !head.typ.eq_ignore_ascii_case(TYPE) {
            return Err(refused(&format!("its type is {:.40?}, not {TYPE}", head.typ)));
        }
        if head.crit.is_some() {
            return Err(refused("its header has crit, which is not supported"));
        }
        let key = self.key(&head.kid).await?;
        let mac = URL_SAFE_NO_PAD.decode(mac).map_err(|_| refused("its signature is no base64url"))?;
        if head.alg != key.algorithm() || !key.verifies(signed.as_bytes(), &mac) {
            return Err(refused(&format!("its signature of the algorithm {:.20?} is not that of the key {:.60?}", head.alg, head.kid)));
        }
        let claims: Claims = part(payload)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        // NaN is in no range.
        if now.partial_cmp(&(claims.exp + SKEW)).is_none_or(|o| o.is_gt()) {
            return Err(refused("it has expired"));
        }
        if claims.nbf.is_some_and(|nbf| nbf > now + SKEW) {
            return Err(refused("it is not valid yet"));
        }
        let audiences = match &claims.aud {
            Audience::One(one) => std::slice::from_ref(one),
            Audience::Many(many) => many,
        };
        if !audiences.contains(&self.0.audience) {
            return Err(refused(&format!("its audience is {audiences:.80?}, not {:?}", self.0.audience)));
        }
        Ok(claims)
    }

    /// Returns a key by its id. An unknown one is fetched; known keys are used while they are fetched again, unless the last attempt was long
    /// ago, as they may have been withdrawn.
    async fn key(&self, id: &str) -> Result<Key, Status> {
        let (now, state) = ((self.0.clock)(), |keys: &Keys| (keys.by_id.contains_key(id), keys.fetched, keys.tried, keys.attempts));
        let (known, fetched, tried, attempts) = state(&lock(&self.0.keys));
        let since = |at: Option<Duration>| at.map_or(Duration::MAX, |at| now.saturating_sub(at));
        let fetching = (since(fetched) >= REFRESH || !known) && since(tried) >= AGAIN;
        // It also waits for a fetch that another call has begun.
        if !known || since(fetched) >= KEPT || since(tried) >= 2 * REFRESH {
            if fetching || self.0.fetching.try_lock().is_err() {
                // In a separate task: a caller that disconnects does not end the fetch of others.
                let _ = tokio::spawn(self.clone().refresh(attempts)).await;
            }
        } else if fetching {
            tokio::spawn(self.clone().refresh(attempts));
        }
        let keys = lock(&self.0.keys);
        if keys.fetched.is_none_or(|at| (self.0.clock)().saturating_sub(at) >= KEPT) {
            let message = format!("the keys of the edge, which verify callers, cannot be read: {}", keys.failed);
            return Err(Status::unavailable(message));
        }
        let unknown = || refused(&format!("it is signed with the key {id:.60?}, which is not among those of {}", self.0.url));
        keys.by_id.get(id).cloned().ok_or_else(unknown)
    }

    /// Fetches the keys, unless another call has done so since `attempts`.
    async fn refresh(self, attempts: u64) {
        let _held = self.0.fetching.lock().await;
        if lock(&self.0.keys).attempts != attempts {
            return;
        }
        let inner = self.0.clone();
        let read = tokio::task::spawn_blocking(move || (inner.read)().and_then(|text| parse(&text))).await;
        let now = (self.0.clock)();
        let mut keys = lock(&self.0.keys);
        keys.attempts += 1;
        keys.tried = Some(now);
        match read {
            Ok(Ok(by_id)) => (keys.by_id, keys.fetched) = (by_id, Some(now)),
            Ok(Err(failed)) => keys.failed = failed,
            Err(e) => keys.failed = e.to_string(),
        }
    }
}

fn refused(why: &str) -> Status {
    Status::unauthenticated(format!("the identity of the call is not accepted: {why}"))
}

/// Reads a part of a JWS: JSON as base64url.
fn part<T: DeserializeOwned>(text: &str) -> Result<T, Status> {
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| refused("a part is no base64url"))?;
    serde_json::from_slice(&json).map_err(|e| refused(&e.to_string()))
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    typ: String,
    #[serde(default)]
    kid: String,
    crit: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
struct Claims {
    exp: f64,
    nbf: Option<f64>,
    aud: Audience,
    txn: Option<String>,
    #[serde(default)]
    sub: String,
    #[serde(default)]
    sub_id: Issuer,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    client_id: String,
    #[serde(default)]
    act: Actor,
    #[serde(default)]
    subject_is_client: bool,
    #[serde(default)]
    claims: Map<String, Value>,
}

#[derive(Default, Deserialize)]
struct Issuer {
    #[serde(default)]
    iss: String,
}

#[derive(Default, Deserialize)]
struct Actor {
    #[serde(default)]
    sub: String,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Map<String, Value>>,
}

/// Reads a JWK Set (RFC 7517, section 5). Keys of other kinds, and keys without an id, are omitted.
fn parse(text: &str) -> Result<HashMap<String, Key>, String> {
    let set: KeySet = serde_json::from_str(text).map_err(|e| format!("they are no JWK Set: {e}"))?;
    Ok(set.keys.iter().filter_map(|jwk| Some((jwk.get("kid")?.as_str()?.to_string(), Key::of(jwk)?))).collect())
}

impl Key {
    fn of(jwk: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        // An uncompressed point (SEC 1, section 2.3.3).
        let point = |size: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == size && y.len() == size).then(|| [&[4], &x[..], &y[..]].concat())
        };
        let key = match (text("kty")?, text("crv")) {
            ("OKP", Some("Ed25519")) => Self::Ed25519(bytes("x")?),
            ("EC", Some("P-256")) => Self::P256(point(32)?),
            ("EC", Some("P-384")) => Self::P384(point(48)?),
            ("RSA", _) => Self::Rsa { n: bytes("n")?, e: bytes("e")? },
            _ => return None,
        };
        let fits = text("alg").is_none_or(|alg| alg == key.algorithm()) && text("use").is_none_or(|purpose| purpose == "sig");
        fits.then_some(key)
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ed25519(_) => "EdDSA",
            Self::P256(_) => "ES256",
            Self::P384(_) => "ES384",
            Self::Rsa { .. } => "RS256",
        }
    }

    fn verifies(&self, message: &[u8], mac: &[u8]) -> bool {
        let verified = match self {
            Self::Ed25519(key) => UnparsedPublicKey::new(&signature::ED25519, key).verify(message, mac),
            Self::P256(key) => UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, key).verify(message, mac),
            Self::P384(key) => UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, key).verify(message, mac),
            Self::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, mac),
        };
        verified.is_ok()
    }
}

/// Reads a URL, without following redirects: their target could supply keys of its own.
fn fetch(url: &str) -> Result<String, String> {
    let config = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false);
    let agent: ureq::Agent = config.max_redirects(0).max_redirects_will_error(false).build().into();
    let mut response = agent.get(url).call().map_err(|e| format!("{url}: {e}"))?;
    if response.status() != 200 {
        return Err(format!("{url} answers {}", response.status().as_u16()));
    }
    response.body_mut().with_config().limit(BYTES).read_to_string().map_err(|e| format!("{url}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    const KEY: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"k"}]}"#;

    #[tokio::test]
    async fn keys_are_fetched_again_and_kept_for_an_hour() {
        let (seconds, fetches, fails) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(1)));
        let (now, counted, failing) = (seconds.clone(), fetches.clone(), fails.clone());
        let read = move || {
            counted.fetch_add(1, Ordering::SeqCst);
            if failing.load(Ordering::SeqCst) > 0 { Err("it answers 500".to_string()) } else { Ok(KEY.to_string()) }
        };
        let clock = move || Duration::from_secs(now.load(Ordering::SeqCst));
        let identities = Identities::with("http://edge".into(), "crm".into(), Box::new(read), Box::new(clock));
        let key = async |id: &str, at: u64| {
            seconds.store(at, Ordering::SeqCst);
            identities.key(id).await.map(|_| ()).map_err(|e| e.message().to_string())
        };
        assert!(key("k", 1).await.unwrap_err().contains("cannot be read: it answers 500"));
        fails.store(0, Ordering::SeqCst);
        assert!(key("k", 1).await.is_err(), "a second attempt within a second");
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
        key("k", 2).await.unwrap();
        assert!(key("other", 10).await.unwrap_err().contains("\"other\", which is not among those of http://edge"));
        assert_eq!(fetches.load(Ordering::SeqCst), 3);
        fails.store(1, Ordering::SeqCst);
        key("k", 1000).await.unwrap();
        assert_eq!(fetches.load(Ordering::SeqCst), 4, "the last attempt was long ago");
        key("k", 3609).await.unwrap();
        assert!(key("k", 3611).await.unwrap_err().contains("cannot be read"));
        fails.store(0, Ordering::SeqCst);
        let both = tokio::join!(key("k", 4000), identities.key("k"));
        assert!(both.0.is_ok() && both.1.is_ok());
    }
}
