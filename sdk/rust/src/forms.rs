//! Forms: their schemas, and the validation of answers.

use crate::schema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A form's schema, a flat JSON object of primitive properties.
#[derive(Default)]
pub(crate) struct Form {
    pub schema: Value,
    /// The member whose value is the answer; `None` if the whole form is.
    one: Option<String>,
}

impl Form {
    /// Returns the form of a type: a struct, whose members are the form's, or a primitive type, whose form has one member of the key's name.
    /// An error if the type makes no form that clients can show.
    pub fn of<T: JsonSchema>(key: &str) -> Result<Self, String> {
        let name = std::any::type_name::<T>();
        let whole = schema::input::<T>();
        if whole["type"] != "object" {
            let properties = json!({ key: member(name, key, whole)? });
            let schema = json!({"type": "object", "properties": properties, "required": [key]});
            return Ok(Self { schema, one: Some(key.to_string()) });
        }
        let mut properties = Map::new();
        for (at, rule) in whole["properties"].as_object().into_iter().flatten() {
            properties.insert(at.clone(), member(name, at, rule.clone())?);
        }
        let mut schema = json!({"type": "object", "properties": properties});
        for said in ["description", "required"] {
            if let Some(value) = whole.get(said) {
                schema[said] = value.clone();
            }
        }
        Ok(Self { schema, one: None })
    }

    /// Returns a form by its schema; an error if that is no object.
    pub fn raw(schema: Value) -> Result<Self, String> {
        if schema["type"] != "object" {
            return Err(format!("the schema of a form must be a JSON object with the type object, not {schema:.80}"));
        }
        Ok(Self { schema, one: None })
    }

    /// Returns the members of an answer; `None` if they do not fit.
    pub fn members(&self, text: &str) -> Option<Map<String, Value>> {
        let members: Map<String, Value> = serde_json::from_str(text).ok()?;
        let required = self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let complete = required.into_iter().all(|name| members.contains_key(name));
        let rules = &self.schema["properties"];
        let fits = members.iter().all(|(name, value)| rules.get(name).is_none_or(|r| schema::admits(r, value)));
        (complete && fits).then_some(members)
    }

    /// Returns an answer as a type; `None` if it does not fit.
    pub fn read<T: DeserializeOwned>(&self, text: &str) -> Option<T> {
        let mut members = self.members(text)?;
        match &self.one {
            Some(name) => schema::parse(&members.remove(name)?.to_string()).ok(),
            None => schema::parse(text).ok(),
        }
    }
}

/// The formats of texts that clients can show.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// Converts a member of a form into the schema that MCP permits: without nulls, with plain enumerations of texts.
fn member(form: &str, name: &str, rule: Value) -> Result<Value, String> {
    let mut rule = without_null(rule);
    if let Some(constant) = rule.as_object_mut().and_then(|r| r.remove("const")) {
        rule["enum"] = json!([constant]);
    }
    if let Some(items) = rule.get_mut("items") {
        *items = without_null(items.take());
    }
    let enumerated = |r: &Value| r["type"] == "string" && (r["enum"].is_array() || r["oneOf"].is_array());
    if rule["oneOf"].is_array() && rule["type"].is_null() {
        rule["type"] = json!("string");
    }
    let primitive = ["string", "number", "integer", "boolean"].iter().any(|kind| rule["type"] == *kind);
    let listed = rule["type"] == "array" && enumerated(&rule["items"]);
    let values = rule["enum"].as_array().into_iter().flatten().all(Value::is_string);
    if !(primitive || listed) || !values {
        return Err(format!(
            "the form {form}: its member {name:?} is no string, number, boolean, enumeration of strings or list of one; clients show no others"
        ));
    }
    match rule["format"].as_str() {
        Some(format) if !FORMATS.contains(&format) => {
            let known = FORMATS.join(", ");
            Err(format!(
                "the form {form}: its member {name:?} has the format {format:?}, which clients do not show, only {known}; take a String"
            ))
        }
        _ => Ok(rule),
    }
}

/// Removes null from the schema of an `Option`.
fn without_null(mut rule: Value) -> Value {
    if let Some(kinds) = rule["type"].as_array() {
        let mut kinds: Vec<_> = kinds.iter().filter(|k| *k != "null").cloned().collect();
        if kinds.len() == 1 {
            rule["type"] = kinds.remove(0);
        }
    }
    if let Some(values) = rule.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|v| !v.is_null());
    }
    if let Some(Value::Array(kinds)) = rule.get("anyOf") {
        let mut kinds: Vec<_> = kinds.iter().filter(|k| k["type"] != "null").cloned().collect();
        if kinds.len() == 1
            && let (Value::Object(mut inner), Value::Object(outer)) = (without_null(kinds.remove(0)), &mut rule)
        {
            outer.remove("anyOf");
            inner.append(outer);
            rule = Value::Object(inner);
        }
    }
    if rule["default"].is_null()
        && let Some(members) = rule.as_object_mut()
    {
        members.remove("default");
    }
    rule
}
