//! Forms: what a user is asked to fill in, and what an answer is held to.

use crate::schema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A form's schema, a flat JSON object of primitive properties.
pub(crate) struct Form {
    pub schema: Value,
    /// The member whose value is the answer; `None`: the whole form is.
    one: Option<String>,
}

impl Form {
    /// The form of a type: a struct, whose members are the form's, or a primitive type, whose form has one member of the key's name. It panics,
    /// with what is wrong and what to do, when the type makes no flat form.
    pub fn of<T: JsonSchema>(key: &str) -> Self {
        let name = std::any::type_name::<T>();
        let whole = schema::input::<T>();
        if whole["type"] != "object" {
            let properties = json!({ key: member(name, key, whole) });
            let schema = json!({"type": "object", "properties": properties, "required": [key]});
            return Self { schema, one: Some(key.to_string()) };
        }
        let mut properties = Map::new();
        for (at, rule) in whole["properties"].as_object().into_iter().flatten() {
            properties.insert(at.clone(), member(name, at, rule.clone()));
        }
        let mut schema = json!({"type": "object", "properties": properties});
        for said in ["description", "required"] {
            if let Some(value) = whole.get(said) {
                schema[said] = value.clone();
            }
        }
        Self { schema, one: None }
    }

    /// A form by its schema.
    pub fn raw(schema: Value) -> Self {
        assert!(schema.is_object(), "the schema of a form must be a JSON object, not {schema}");
        Self { schema, one: None }
    }

    /// The members of an answer; `None` when they do not fit.
    pub fn members(&self, text: &str) -> Option<Map<String, Value>> {
        let members: Map<String, Value> = serde_json::from_str(text).ok()?;
        let required = self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let complete = required.into_iter().all(|name| members.contains_key(name));
        let rules = &self.schema["properties"];
        let fits = members.iter().all(|(name, value)| rules.get(name).is_none_or(|r| schema::admits(r, value)));
        (complete && fits).then_some(members)
    }

    /// An answer as a type; `None` when it does not fit.
    pub fn read<T: DeserializeOwned>(&self, text: &str) -> Option<T> {
        let mut members = self.members(text)?;
        match &self.one {
            Some(name) => schema::parse(&members.remove(name)?.to_string()).ok(),
            None => schema::parse(text).ok(),
        }
    }
}

/// A member of a form as MCP admits it: without nulls, enumerations in place of what schemars makes of enums.
fn member(form: &str, name: &str, rule: Value) -> Value {
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
    assert!(
        primitive || listed,
        "the form {form}: its member {name:?} is no string, number, boolean or list of enumerated strings; a form has no others"
    );
    rule
}

/// The rule of an `Option` is that of what it may hold.
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
