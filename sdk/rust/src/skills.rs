//! Skills: directories of files that tell an agent how to do a task (agentskills.io). `SkillFolder` needs the feature `skills`.

use crate::Call;
use crate::contract;
use crate::failure::Error;
use crate::providers::ResourceProvider;
use crate::types::ResourceInfo;
use serde_json::{Map, Value};
use tonic::async_trait;

#[cfg(feature = "skills")]
pub use crate::skillfolder::{MAX_ENTRIES, MAX_FILE_BYTES, SkillFolder};

/// The MIME type of directories.
pub const DIRECTORY_TYPE: &str = "inode/directory";

/// A skill. MCP: Skill of the extension io.modelcontextprotocol/skills.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skill {
    /// The URI of SKILL.md; the segment before the last is the name of the skill.
    pub uri: String,
    /// The YAML at the head of SKILL.md, with `name` and `description`.
    pub frontmatter: Map<String, Value>,
    /// All files, SKILL.md included; empty if the skill is dynamic.
    pub files: Vec<SkillFile>,
    /// The files are generated on demand, without digests.
    pub dynamic: bool,
}

/// A file of a skill. MCP: SkillResource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    pub uri: String,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// The size in bytes.
    pub size: i64,
}

impl Skill {
    pub(crate) fn into_wire(self) -> contract::Skill {
        let file = |f: SkillFile| contract::SkillFile { uri: f.uri, sha256: f.sha256.to_vec(), size: f.size };
        contract::Skill {
            uri: self.uri,
            frontmatter_json: Value::Object(self.frontmatter).to_string(),
            files: self.files.into_iter().map(file).collect(),
            dynamic: self.dynamic,
        }
    }
}

/// A provider of resources with skills, for `Server::provide_skills`: some of its resources are files of skills. Implement it under
/// `#[async_trait]`. When the result of `skills` changes, call `Server::resources_changed`, or `Changes::list_changed` of a watch.
#[async_trait]
pub trait SkillProvider: ResourceProvider {
    /// The skills in a stable order; it may omit some.
    async fn skills(&self) -> Result<Vec<Skill>, Error>;

    /// The current skill whose SKILL.md has the URI, whether listed or not; `None` if there is none.
    async fn skill(&self, call: Call, uri: &str) -> Result<Option<Skill>, Error>;

    /// The direct children of a directory in a stable order, directories with [`DIRECTORY_TYPE`]; `None` if the URI is no directory.
    async fn directory(&self, call: Call, uri: &str) -> Result<Option<Vec<ResourceInfo>>, Error>;
}
