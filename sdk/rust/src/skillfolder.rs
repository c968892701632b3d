//! The skills of a folder.

use crate::Call;
use crate::failure::Error;
use crate::feed::lock;
use crate::log::Log;
use crate::providers::ResourceProvider;
use crate::resources::of_bytes;
use crate::skills::{DIRECTORY_TYPE, Skill, SkillFile, SkillProvider};
use crate::types::{ResourceContents, ResourceInfo};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use tonic::async_trait;
use yaml_rust2::{Yaml, YamlLoader};

/// The maximum number of files and directories of a folder.
pub const MAX_ENTRIES: usize = 10_000;
/// The maximum size of one file, which must fit in a message. All files of one skill should have at most 16 MiB and be at most 512.
pub const MAX_FILE_BYTES: u64 = 15 << 20;

const SKILL: &str = "SKILL.md";
/// The characters that are not escaped in the path of a URI.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const TYPES: [(&str, &str); 18] = [
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("py", "text/x-python"),
    ("sh", "application/x-sh"),
    ("svg", "image/svg+xml"),
    ("ts", "text/typescript"),
    ("txt", "text/plain"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// Serves the skills below a folder under a prefix of URIs, such as `skill://` or `skill://acme/`: pass it to `Server::provide_skills` with the
/// same prefix. Each directory with a SKILL.md is a skill, at any depth, with all files below it. Names with a leading dot, and links, are
/// ignored. Each request reads what has changed.
#[derive(Clone)]
pub struct SkillFolder(Arc<Folder>);

struct Folder {
    root: PathBuf,
    prefix: String,
    log: Log,
    digests: Mutex<HashMap<String, Digest>>,
}

/// The SHA-256 of a file, and the size and the time of the last change to which it belongs.
struct Digest {
    version: (u64, Option<SystemTime>),
    sha256: [u8; 32],
}

/// The directories with a SKILL.md, and the files in and below them.
#[derive(Default)]
struct Found {
    skills: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl SkillFolder {
    /// Returns the skills of a folder. An error if one is invalid: SKILL.md must begin with YAML between two lines of ---, with a description
    /// and with the directory as its name. One that becomes invalid later is left out and logged on standard error.
    pub fn new(folder: impl Into<PathBuf>, prefix: impl Into<String>) -> Result<Self, Error> {
        let (root, prefix) = (folder.into(), prefix.into());
        if !prefix.ends_with('/') {
            return Err(format!("prefix {prefix:?}: it must end with a slash, as skill:// does").into());
        }
        let folder = Folder { root, prefix, log: Log::default(), digests: Mutex::default() };
        let found = folder.scan()?;
        for skill in &found.skills {
            folder.skill(skill, &found)?;
        }
        Ok(Self(Arc::new(folder)))
    }

    /// Runs a function of the folder in a thread that may block.
    async fn run<R: Send + 'static>(&self, function: impl FnOnce(&Folder) -> Result<R, Error> + Send + 'static) -> Result<R, Error> {
        let folder = self.0.clone();
        tokio::task::spawn_blocking(move || function(&folder)).await?
    }
}

impl Folder {
    fn scan(&self) -> Result<Found, Error> {
        let (mut all, mut seen) = (BTreeSet::new(), 0);
        self.collect(&self.root, "", &mut all, &mut seen)?;
        let skills: BTreeSet<String> = all.iter().filter_map(|f| f.strip_suffix("/SKILL.md")).map(str::to_string).collect();
        let files = all.into_iter().filter(|f| above(f).any(|d| skills.contains(d))).collect();
        Ok(Found { skills, files })
    }

    fn collect(&self, folder: &Path, name: &str, all: &mut BTreeSet<String>, seen: &mut usize) -> Result<(), Error> {
        for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
            let entry = entry?;
            *seen += 1;
            if *seen > MAX_ENTRIES {
                return Err(format!("{} has more than {MAX_ENTRIES} files and directories; serve fewer", self.root.display()).into());
            }
            // A name that is no UTF-8 has no URI.
            let Ok(own) = entry.file_name().into_string() else { continue };
            if own.starts_with('.') {
                continue;
            }
            let path = if name.is_empty() { own } else { format!("{name}/{own}") };
            // This is the type of a link itself, so that links are ignored.
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.collect(&entry.path(), &path, all, seen)?;
            } else if kind.is_file() {
                all.insert(path);
            }
        }
        Ok(())
    }

    fn uri(&self, name: &str) -> String {
        format!("{}{}", self.prefix, utf8_percent_encode(name, KEPT))
    }

    /// Returns the name of the file of a URI; empty if there is none. Each file has exactly one URI, because policies refer to URIs.
    fn name(&self, uri: &str) -> String {
        let name = uri.strip_prefix(&self.prefix).and_then(|n| percent_decode_str(n).decode_utf8().ok()).unwrap_or_default();
        if self.uri(&name) == uri { name.into_owned() } else { String::new() }
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.root.join(name);
        if fs::metadata(&path)?.len() > MAX_FILE_BYTES {
            return Err(format!("{name} has more than {MAX_FILE_BYTES} bytes").into());
        }
        Ok(fs::read(path)?)
    }

    fn file(&self, name: &str) -> Result<SkillFile, Error> {
        let stat = fs::metadata(self.root.join(name))?;
        let version = (stat.len(), stat.modified().ok());
        let known = lock(&self.digests).get(name).filter(|d| d.version == version).map(|d| d.sha256);
        let sha256 = match known {
            Some(known) => known,
            None => {
                let mut sha256 = [0; 32];
                sha256.copy_from_slice(digest(&SHA256, &self.bytes(name)?).as_ref());
                lock(&self.digests).insert(name.to_string(), Digest { version, sha256 });
                sha256
            }
        };
        Ok(SkillFile { uri: self.uri(name), sha256, size: i64::try_from(version.0)? })
    }

    fn skill(&self, skill: &str, found: &Found) -> Result<Skill, Error> {
        let frontmatter = self.front(skill)?;
        let below = format!("{skill}/");
        let own = found.files.range(below.clone()..).take_while(|f| f.starts_with(&below));
        let files = own.map(|f| self.file(f)).collect::<Result<_, _>>()?;
        Ok(Skill { uri: self.uri(&format!("{skill}/{SKILL}")), frontmatter, files, dynamic: false })
    }

    /// Reads the frontmatter of a SKILL.md, which is YAML.
    fn front(&self, skill: &str) -> Result<Map<String, Value>, Error> {
        let what = format!("skill {skill:?}: SKILL.md");
        let text = String::from_utf8(self.bytes(&format!("{skill}/{SKILL}"))?).map_err(|_| format!("{what} is no UTF-8"))?;
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let head = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---"));
        let (head, _) = head.ok_or_else(|| format!("{what} does not begin with YAML between two lines of ---"))?;
        let documents = YamlLoader::load_from_str(head).map_err(|e| format!("{what} has front matter that is no YAML: {e}"))?;
        let Some(Value::Object(front)) = documents.into_iter().next().map(|d| json_of(&d)) else {
            return Err(format!("{what} has front matter that is no mapping").into());
        };
        let name = last(skill);
        if front.get("name").and_then(Value::as_str) != Some(name) {
            return Err(format!("{what} must have the name of its directory, {name:?}").into());
        }
        if front.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(format!("{what} has no description, which must be a text").into());
        }
        Ok(front)
    }

    fn resource(&self, path: &str) -> ResourceInfo {
        let mut listed = ResourceInfo { mime_type: mime_type(path).to_string(), ..ResourceInfo::new(self.uri(path), last(path)) };
        // The listing of an invalid skill has no description.
        if let Some(skill) = path.strip_suffix("/SKILL.md")
            && let Ok(front) = self.front(skill)
        {
            listed.name = last(skill).to_string();
            listed.description = front["description"].as_str().unwrap_or_default().to_string();
        }
        listed
    }

    fn directory(&self, uri: &str) -> Result<Option<Vec<ResourceInfo>>, Error> {
        let (name, found) = (self.name(uri), self.scan()?);
        let below = format!("{name}/");
        let mut children = BTreeMap::new();
        for rest in found.files.iter().filter_map(|f| f.strip_prefix(&below)) {
            let child = rest.split('/').next().unwrap_or(rest);
            let path = format!("{below}{child}");
            let listed = if child == rest {
                self.resource(&path)
            } else {
                ResourceInfo { mime_type: DIRECTORY_TYPE.to_string(), ..ResourceInfo::new(self.uri(&path), child) }
            };
            children.insert(child.to_string(), listed);
        }
        let within = found.skills.contains(&name) || above(&name).any(|d| found.skills.contains(d));
        Ok((!name.is_empty() && within && !children.is_empty()).then(|| children.into_values().collect()))
    }
}

#[async_trait]
impl ResourceProvider for SkillFolder {
    async fn list(&self) -> Result<Vec<ResourceInfo>, Error> {
        self.run(|folder| Ok(folder.scan()?.files.iter().map(|f| folder.resource(f)).collect())).await
    }

    async fn read(&self, call: Call) -> Result<Vec<ResourceContents>, Error> {
        let uri = call.uri().to_string();
        self.run(move |folder| {
            let name = folder.name(&uri);
            if !folder.scan()?.files.contains(&name) {
                return Ok(Vec::new());
            }
            Ok(vec![of_bytes(folder.bytes(&name)?, mime_type(&name))])
        })
        .await
    }
}

#[async_trait]
impl SkillProvider for SkillFolder {
    async fn skills(&self) -> Result<Vec<Skill>, Error> {
        self.run(|folder| {
            let found = folder.scan()?;
            let valid = found.skills.iter().filter_map(|skill| match folder.skill(skill, &found) {
                Ok(skill) => Some(skill),
                Err(e) => {
                    folder.log.0("WARN", "a skill is left out", json!({"skill": skill, "error": e.to_string()}));
                    None
                }
            });
            Ok(valid.collect())
        })
        .await
    }

    async fn skill(&self, _: Call, uri: &str) -> Result<Option<Skill>, Error> {
        let uri = uri.to_string();
        self.run(move |folder| {
            let (name, found) = (folder.name(&uri), folder.scan()?);
            let skill = name.strip_suffix("/SKILL.md").filter(|skill| found.skills.contains(*skill));
            skill.map(|skill| folder.skill(skill, &found)).transpose()
        })
        .await
    }

    async fn directory(&self, _: Call, uri: &str) -> Result<Option<Vec<ResourceInfo>>, Error> {
        let uri = uri.to_string();
        self.run(move |folder| folder.directory(&uri)).await
    }
}

/// Returns the directories above a name.
fn above(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').map(|(i, _)| &name[..i])
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn mime_type(path: &str) -> &'static str {
    let extension = last(path).rsplit_once('.').map_or("", |(_, extension)| extension);
    TYPES.iter().find(|t| t.0 == extension).map_or("", |t| t.1)
}

/// Converts YAML to JSON; values that JSON does not have become texts.
fn json_of(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Real(text) => text.parse::<f64>().ok().map_or_else(|| Value::from(text.as_str()), Value::from),
        Yaml::Integer(number) => (*number).into(),
        Yaml::String(text) => text.as_str().into(),
        Yaml::Boolean(value) => (*value).into(),
        Yaml::Array(items) => items.iter().map(json_of).collect(),
        Yaml::Hash(members) => {
            let name = |key: &Yaml| match json_of(key) {
                Value::String(text) => text,
                other => other.to_string(),
            };
            Value::Object(members.iter().map(|(key, value)| (name(key), json_of(value))).collect())
        }
        Yaml::Alias(_) | Yaml::Null | Yaml::BadValue => Value::Null,
    }
}
