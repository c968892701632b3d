use mcpedge_capability::contract::{self, backend_service_server::BackendService, resource_service_server::ResourceService};
use mcpedge_capability::skills::SkillFolder;
use mcpedge_capability::testing::Client;
use mcpedge_capability::{Server, Service};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tonic::{Code, Request};

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcpedge-rust-skills-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Refunds orders\nmetadata:\n  level: 2\n---\n# Refunds\n")
}

fn served(folder: &Folder) -> (Server, Service) {
    let skills = SkillFolder::new(&folder.0, "skill://acme/").unwrap();
    let server = Server::new("test", "1.0.0").provide_skills("skill://acme/", skills);
    server.check().unwrap();
    (server.clone(), Service(server))
}

async fn get(service: &Service, uri: &str) -> Result<contract::Skill, Code> {
    let request = contract::GetSkillRequest { uri: uri.into(), context: None };
    service.get_skill(Request::new(request)).await.map(|r| r.into_inner().skill.unwrap()).map_err(|e| e.code())
}

async fn children(service: &Service, uri: &str) -> Result<Vec<(String, String)>, Code> {
    let request = contract::ListResourceDirectoryRequest { uri: uri.into(), ..Default::default() };
    let listed = service.list_resource_directory(Request::new(request)).await.map_err(|e| e.code())?.into_inner();
    Ok(listed.resources.into_iter().map(|r| (r.uri, r.mime_type)).collect())
}

#[tokio::test]
async fn a_folder_of_skills_is_listed_read_and_walked() {
    let folder = Folder::new("all");
    folder.write("sales/refunds/SKILL.md", &skill("refunds"));
    folder.write("sales/refunds/notes/a b.txt", "a note");
    folder.write("sales/refunds/logo.png", "abc");
    folder.write("sales/refunds/.hidden", "x");
    folder.write("outside.txt", "x");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", folder.0.join("sales/refunds/link")).unwrap();
    let (server, service) = served(&folder);
    let described = service.describe(Request::new(Default::default())).await.unwrap().into_inner().resources.unwrap();
    assert!(described.directories && described.uri_prefixes == ["skill://acme/"]);
    let listed = service.list_skills(Request::new(Default::default())).await.unwrap().into_inner().skills;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].uri, "skill://acme/sales/refunds/SKILL.md");
    let front: Value = serde_json::from_str(&listed[0].frontmatter_json).unwrap();
    assert_eq!(front, json!({"name": "refunds", "description": "Refunds orders", "metadata": {"level": 2}}));
    let files: Vec<_> = listed[0].files.iter().map(|f| (f.uri.strip_prefix("skill://acme/sales/refunds/").unwrap(), f.size)).collect();
    assert_eq!(
        files,
        [("SKILL.md", 80), ("logo.png", 3), ("notes/a%20b.txt", 6)]
            .map(|(f, s)| (f, if f == "SKILL.md" { skill("refunds").len() as i64 } else { s }))
    );
    let sum = &listed[0].files[1].sha256;
    assert_eq!(sum[..4], [0xba, 0x78, 0x16, 0xbf], "the SHA-256 of abc");
    assert_eq!(get(&service, "skill://acme/sales/refunds/SKILL.md").await.unwrap(), listed[0]);
    for unknown in ["skill://acme/sales/SKILL.md", "skill://acme/sales/refunds", "other://x"] {
        assert_eq!(get(&service, unknown).await.unwrap_err(), Code::NotFound, "{unknown}");
    }
    let client = Client::new(&server);
    let read = async |uri: &str| client.read_resource(uri).await.unwrap().result.map(|mut r| r.contents.remove(0));
    assert_eq!(read("skill://acme/sales/refunds/notes/a%20b.txt").await.unwrap().as_text(), Some("a note"));
    assert_eq!(read("skill://acme/sales/refunds/logo.png").await.unwrap().as_blob(), Some(&b"abc"[..]));
    let hidden =
        ["sales/refunds/notes/a b.txt", "outside.txt", "sales/refunds/.hidden", "sales/refunds/link", "sales/refunds/../refunds/SKILL.md"];
    for hidden in hidden {
        assert!(read(&format!("skill://acme/{hidden}")).await.is_none(), "{hidden}");
    }
    let base = "skill://acme/sales/refunds";
    let want = [("SKILL.md", "text/markdown"), ("logo.png", "image/png"), ("notes", "inode/directory")];
    assert_eq!(children(&service, base).await.unwrap(), want.map(|(name, kind)| (format!("{base}/{name}"), kind.to_string())));
    assert_eq!(children(&service, &format!("{base}/notes")).await.unwrap().len(), 1);
    assert_eq!(children(&service, "skill://acme/sales").await.unwrap_err(), Code::NotFound);
}

#[tokio::test]
async fn invalid_skills_are_refused_at_the_start_and_left_out_later() {
    let folder = Folder::new("invalid");
    for (text, says) in [
        ("# none", "does not begin with YAML"),
        ("---\nname: [\n---\n", "no YAML"),
        ("---\n- a\n---\n", "no mapping"),
        ("---\nname: other\ndescription: x\n---\n", "must have the name of its directory, \"a\""),
        ("---\nname: a\n---\n", "has no description"),
    ] {
        folder.write("a/SKILL.md", text);
        let error = SkillFolder::new(&folder.0, "skill://").err().unwrap().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(SkillFolder::new(&folder.0, "skill:").err().unwrap().to_string().contains("end with a slash"));
    folder.write("a/SKILL.md", &skill("a"));
    folder.write("b/SKILL.md", &skill("b"));
    let (_, service) = served(&folder);
    folder.write("a/SKILL.md", "none");
    let listed = service.list_skills(Request::new(Default::default())).await.unwrap().into_inner().skills;
    assert_eq!(listed.iter().map(|s| s.uri.as_str()).collect::<Vec<_>>(), ["skill://acme/b/SKILL.md"]);
    let before = listed[0].files[0].sha256.clone();
    folder.write("b/SKILL.md", &(skill("b") + "more"));
    assert_ne!(get(&service, "skill://acme/b/SKILL.md").await.unwrap().files[0].sha256, before);
}
