use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpedge_capability::contract::{self, call_tool_response, tool_service_server::ToolService};
use mcpedge_capability::identity::Identities;
use mcpedge_capability::testing::Client;
use mcpedge_capability::{Call, Principal, Resource, Server, Service};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_stream::StreamExt;
use tonic::{Code, Request, Status};

/// Serves a JWK Set at a URL until the process ends; `status` is the status of its responses.
fn serve(status: &'static str, set: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/.well-known/jwks.json", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, body) = (stream.unwrap(), set.to_string());
            let _ = stream.read(&mut [0; 4096]);
            let head = format!("HTTP/1.1 {status}\r\nLocation: /elsewhere\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    url
}

struct Edge {
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
    url: String,
}

fn edge() -> Edge {
    let random = SystemRandom::new();
    let ed = Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let ec = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let point = ec.public_key().as_ref();
    let set = json!({"keys": [
        {"kty": "OKP", "crv": "Ed25519", "x": text(ed.public_key().as_ref()), "kid": "ed"},
        {"kty": "EC", "crv": "P-256", "x": text(&point[1..33]), "y": text(&point[33..]), "kid": "ec"},
        {"kty": "unknown", "kid": "other"},
    ]});
    Edge { ed, ec, url: serve("200 OK", set) }
}

impl Edge {
    /// Signs the claims of alice with changes; null removes one.
    fn sign(&self, header: Value, changes: Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut claims = json!({
            "sub": "alice", "sub_id": {"iss": "https://id"}, "scope": "a b", "roles": ["r"], "client_id": "desk", "act": {"sub": "agent"},
            "subject_is_client": true, "claims": {"tenant": "acme"}, "aud": "crm", "txn": "c1", "exp": now + 60,
        });
        let mut head = json!({"typ": "mcp-identity+jwt", "alg": "EdDSA", "kid": "ed"});
        for (of, changes) in [(&mut claims, changes), (&mut head, header)] {
            for (name, value) in changes.as_object().unwrap() {
                of[name] = value.clone();
            }
        }
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let signed = [head.clone(), claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let mac = match head["kid"].as_str() {
            Some("ec") => self.ec.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec(),
            _ => self.ed.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac))
    }
}

fn guarded(url: &str) -> Service {
    let who = |call: Call| async move {
        let p = call.principal();
        let tenant = call.claim("tenant").cloned().unwrap_or_default();
        format!("{} {} {:?} {:?} {} {} {tenant} {}", p.subject, p.issuer, p.scopes, p.roles, p.client_id, p.actor, p.subject_is_client)
    };
    let identities = Identities::new(url, "crm").unwrap();
    let server = Server::new("crm", "1").identity(identities);
    Service(server.tool("who", "", who).with(Resource::new("who://x", "who", who)))
}

fn request<T>(message: T, tokens: &[String]) -> Request<T> {
    let mut request = Request::new(message);
    for token in tokens {
        request.metadata_mut().append("mcp-identity", token.parse().unwrap());
    }
    request
}

fn context() -> Option<contract::RequestContext> {
    let principal = contract::Principal { subject: "mallory".into(), ..Default::default() };
    Some(contract::RequestContext { call_id: "c1".into(), principal: Some(principal), ..Default::default() })
}

async fn who(service: &Service, tokens: &[String]) -> Result<String, Status> {
    let message = contract::CallToolRequest { name: "who".into(), context: context(), ..Default::default() };
    let mut stream = service.call_tool(request(message, tokens)).await?.into_inner();
    match stream.next().await.unwrap()?.message {
        Some(call_tool_response::Message::Result(r)) => Ok(format!("{:?}", r.content[0].content)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn work_is_that_of_the_verified_caller() {
    let edge = edge();
    let service = guarded(&edge.url);
    let signed = [edge.sign(json!({}), json!({}))];
    let text = who(&service, &signed).await.unwrap();
    assert!(text.contains(r#"alice https://id [\"a\", \"b\"] [\"r\"] desk agent \"acme\" true"#), "{text}");
    let by_ec = [edge.sign(json!({"alg": "ES256", "kid": "ec"}), json!({"aud": ["x", "crm"]}))];
    assert!(who(&service, &by_ec).await.unwrap().contains("alice"));
    use contract::resource_service_server::ResourceService;
    let read = || contract::ReadResourceRequest { uri: "who://x".into(), context: context(), ..Default::default() };
    assert!(service.read_resource(request(read(), &signed)).await.is_ok());
    let refused = service.read_resource(request(read(), &[])).await.err().unwrap();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert_eq!(service.list_tools(Request::new(Default::default())).await.unwrap().into_inner().tools.len(), 1);
}

#[tokio::test]
async fn other_identities_are_refused() {
    let edge = edge();
    let service = guarded(&edge.url);
    let none = json!({});
    for (header, claims, says) in [
        (none.clone(), json!({"aud": "hr"}), "its audience is [\"hr\"], not \"crm\""),
        (none.clone(), json!({"txn": "c2"}), "another call's"),
        (none.clone(), json!({"txn": null}), "another call's"),
        (none.clone(), json!({"exp": null}), "missing field `exp`"),
        (none.clone(), json!({"exp": "9999999999"}), "invalid type"),
        (none.clone(), json!({"exp": 1}), "it has expired"),
        (none.clone(), json!({"nbf": 9_999_999_999_u64}), "not valid yet"),
        (json!({"typ": "JWT"}), none.clone(), "its type is \"JWT\""),
        (json!({"alg": "none"}), none.clone(), "is not that of the key"),
        (json!({"alg": "HS256"}), none.clone(), "is not that of the key"),
        (json!({"alg": "ES256"}), none.clone(), "is not that of the key"),
        (json!({"crit": ["x"]}), none.clone(), "crit"),
        (json!({"kid": "other"}), none.clone(), "is not among those of"),
    ] {
        let status = who(&service, &[edge.sign(header, claims)]).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated, "{says}: {status}");
        assert!(status.message().contains(says), "{says}: {}", status.message());
    }
    let good = edge.sign(json!({}), json!({}));
    let (signed, _) = good.rsplit_once('.').unwrap();
    let other = self::edge().sign(json!({}), json!({}));
    for wrong in [format!("{signed}."), format!("{signed}.AAAA"), signed.to_string(), "x".to_string(), other] {
        assert_eq!(who(&service, std::slice::from_ref(&wrong)).await.unwrap_err().code(), Code::Unauthenticated, "{wrong}");
    }
    assert!(who(&service, &[]).await.unwrap_err().message().contains("the call has 0 identities"));
    assert!(who(&service, &[good.clone(), good]).await.unwrap_err().message().contains("the call has 2 identities"));
}

#[tokio::test]
async fn without_keys_work_is_unavailable_and_redirects_are_not_followed() {
    let edge = edge();
    let service = guarded(&serve("302 Found", json!({})));
    let status = who(&service, &[edge.sign(json!({}), json!({}))]).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("answers 302"), "{}", status.message());
    assert!(Identities::new("", "crm").err().unwrap().to_string().contains("give both"));
}

#[tokio::test]
async fn the_kit_calls_a_server_with_identities_as_its_principal() {
    let identities = Identities::new("http://127.0.0.1:1/.well-known/jwks.json", "crm").unwrap();
    let server =
        Server::new("crm", "1.0.0").tool("who", "", |call: Call| async move { call.principal().subject.clone() }).identity(identities);
    let outcome = Client::new(&server).principal(Principal::new("ada")).call_tool("who", json!({})).await.unwrap();
    assert_eq!(outcome.text(), "ada");
    assert_eq!(Client::new(&server).call_tool("who", json!({})).await.unwrap().text(), "");
    assert!(who(&Service(server), &[]).await.unwrap_err().message().contains("the call has 0 identities"));
}
