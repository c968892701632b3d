//! Bytes in JSON, as base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Bytes that are base64 in JSON (RFC 4648, section 4), as members of arguments and of results: the schema has `contentEncoding`. Arguments
/// are decoded; invalid base64, or more than `MAX` bytes (by default 1 MiB), is refused.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Base64<const MAX: usize = 1_048_576>(pub Vec<u8>);

impl<const MAX: usize> Base64<MAX> {
    /// The length of `MAX` bytes in base64.
    const CHARACTERS: usize = MAX.div_ceil(3) * 4;
}

impl<const MAX: usize> Deref for Base64<MAX> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<const MAX: usize> fmt::Debug for Base64<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base64({} bytes)", self.0.len())
    }
}

impl<const MAX: usize> From<Vec<u8>> for Base64<MAX> {
    fn from(data: Vec<u8>) -> Self {
        Self(data)
    }
}

impl<const MAX: usize> Serialize for Base64<MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Base64<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Decoder::<MAX>)
    }
}

struct Decoder<const MAX: usize>;

impl<const MAX: usize> Visitor<'_> for Decoder<MAX> {
    type Value = Base64<MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "base64 of at most {MAX} bytes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Base64<MAX>, E> {
        let too_long = || E::custom(format!("above {MAX} bytes"));
        if text.len() > Base64::<MAX>::CHARACTERS {
            return Err(too_long());
        }
        let data = STANDARD.decode(text).map_err(|_| E::custom("no base64: standard alphabet, with padding, without line breaks"))?;
        if data.len() > MAX { Err(too_long()) } else { Ok(Base64(data)) }
    }
}

impl<const MAX: usize> JsonSchema for Base64<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Base64".into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("mcpedge_capability::Base64<{MAX}>").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "contentEncoding": "base64", "maxLength": Self::CHARACTERS})
    }
}
