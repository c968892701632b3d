//! JSON Schemas of Rust types by schemars, and their values by serde.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Returns the schema of a type for reading.
pub(crate) fn input<T: JsonSchema>() -> Value {
    made::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The keywords by which a schema permits members beyond `properties`.
const OPENING: [&str; 6] = ["oneOf", "anyOf", "allOf", "additionalProperties", "patternProperties", "unevaluatedProperties"];

/// Returns the schema of a tool's arguments, an object: for a type with several forms it has the members of all of them. It is closed
/// (`additionalProperties: false`) if it names all members.
pub(crate) fn arguments<T: JsonSchema>() -> Value {
    let mut schema = input::<T>().as_object().cloned().unwrap_or_default();
    let (mut named, mut open) = (schema.contains_key("properties"), false);
    for combinator in ["oneOf", "anyOf", "allOf"] {
        let forms = schema.remove(combinator).unwrap_or_default();
        for form in forms.as_array().into_iter().flatten() {
            let members = form["properties"].as_object();
            named = true;
            open |= members.is_none() || OPENING.iter().any(|c| form.get(c).is_some_and(|rule| *rule != false));
            for (name, rule) in members.into_iter().flatten() {
                let said = &mut schema.entry("properties").or_insert(json!({}))[name];
                *said = if said.is_null() { rule.clone() } else { json!({"anyOf": [said, rule]}) };
            }
        }
    }
    if schema.entry("type").or_insert("object".into()) == "object" {
        schema.entry("properties").or_insert(json!({}));
        if named && !open && !OPENING.iter().any(|c| schema.contains_key(*c)) {
            schema.insert("additionalProperties".into(), false.into());
        }
    }
    schema.into()
}

/// Returns the names of the members of a closed schema; `None` if it permits others.
pub(crate) fn closed(schema: &Value) -> Option<Vec<String>> {
    let closed =
        ["additionalProperties", "unevaluatedProperties"].iter().any(|c| schema[c] == false) && schema["patternProperties"].is_null();
    closed.then(|| schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect())
}

/// Refuses arguments that are not among the known ones, by name.
pub(crate) fn refuse_unknown<'a>(given: impl Iterator<Item = &'a String>, known: &[String]) -> Result<(), String> {
    let unknown: Vec<String> = given.filter(|name| !known.contains(name)).take(10).map(|name| crate::failure::quote(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let known = if known.is_empty() {
        "there are none".to_string()
    } else {
        format!("known are {}", known.iter().map(|name| crate::failure::quote(name)).collect::<Vec<_>>().join(", "))
    };
    let noun = if unknown.len() == 1 { "argument" } else { "arguments" };
    Err(format!("unknown {noun} {}: {known}", unknown.join(", ")))
}

/// Returns why a type cannot be the arguments or the result of a tool: bytes would be a list of numbers in JSON.
pub(crate) fn mistake<T: JsonSchema>(what: &str) -> Option<String> {
    let settings = SchemaSettings::draft2020_12().with(|s| s.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let mut found = false;
    RecursiveTransform(|schema: &mut Schema| {
        let bounded = schema.get("minItems").is_some() || schema.get("maxItems").is_some() || schema.get("uniqueItems").is_some();
        let numbers = schema.get("items").is_some_and(|items| items["format"] == "uint8" && items["type"] == "integer");
        found |= numbers && !bounded;
    })
    .transform(&mut schema);
    found.then(|| {
        format!("its {what} have a Vec<u8>, which is a list of numbers in JSON; use Base64 for bytes, or Vec<u16> for a list of numbers")
    })
}

/// Returns the schema of a type for writing; `None` if it permits everything.
pub(crate) fn output<T: JsonSchema>() -> Option<Value> {
    let schema = made::<T>(SchemaSettings::draft2020_12().for_serialize());
    schema.as_object().is_some_and(|s| s.keys().any(|k| k != "description")).then_some(schema)
}

/// Generates a schema without details that do not help a model: the dialect, names of types, formats of numbers, references.
fn made<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|s| s.meta_schema = None);
    let whole = settings.with_transform(RecursiveTransform(without_format)).into_generator().into_root_schema_for::<T>().to_value();
    let mut schema = whole.clone();
    schema.as_object_mut().unwrap_or(&mut Map::new()).retain(|name, _| name != "title" && name != "$defs");
    inline(&mut schema, &whole, &["#"]);
    schema
}

/// Replaces references by their targets, as some clients do not resolve them. A recursive object is any object, and another recursive type is
/// any value.
fn inline(schema: &mut Value, whole: &Value, within: &[&str]) {
    let members = match schema {
        Value::Array(items) => return items.iter_mut().for_each(|item| inline(item, whole, within)),
        Value::Object(members) => members,
        _ => return,
    };
    members.values_mut().for_each(|member| inline(member, whole, within));
    let Some(reference) = members.get("$ref").and_then(Value::as_str).map(str::to_string) else { return };
    members.remove("$ref");
    let mut target = whole.pointer(&reference[1..]).cloned().unwrap_or_default();
    if within.contains(&reference.as_str()) {
        target = if target["type"] == "object" { json!({"type": "object"}) } else { json!({}) };
        target["description"] = format!("a {} as above", reference.trim_start_matches("#/$defs/")).into();
    }
    inline(&mut target, whole, &[within, &[reference.as_str()]].concat());
    for (name, said) in target.as_object().into_iter().flatten().filter(|(name, _)| *name != "title") {
        members.entry(name).or_insert(said.clone());
    }
}

/// Removes the format of a number.
fn without_format(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    if ["float", "double"].contains(&format) || format.starts_with("int") || format.starts_with("uint") {
        schema.remove("format");
    }
}

/// Reads JSON as a type: a string is no number, and 3.0 is an integer.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|e| {
        if !text.contains(['.', 'e', 'E']) {
            return Err(e);
        }
        let mut value = serde_json::from_str(text)?;
        whole(&mut value);
        serde_json::from_value(value).map_err(|_| e)
    })
}

/// Returns the error of reading JSON as a type, after the path of the member; `None` if there is no error with a path.
pub(crate) fn at_member<T: DeserializeOwned>(text: &str) -> Option<String> {
    let e = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_str(text)).err()?;
    let (path, e) = (e.path().to_string(), e.into_inner());
    let place = format!(" at line {} column {}", e.line(), e.column());
    let message = e.to_string();
    (path != ".").then(|| format!("{path}: {}", message.strip_suffix(&place).unwrap_or(&message)))
}

/// Converts numbers without a fraction into integers.
fn whole(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole),
        Value::Object(members) => members.values_mut().for_each(whole),
        Value::Number(n) if n.is_f64() => {
            // From 2^53 on, the float may differ from the text.
            if let Some(f) = n.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9_007_199_254_740_992.0) {
                *value = Value::from(f as i64);
            }
        }
        _ => {}
    }
}

/// Reads a type from texts by name, each by its schema: the text itself, or the JSON in it. An error names the member.
pub(crate) fn of_texts<T: DeserializeOwned>(schema: &Value, texts: &HashMap<String, String>) -> Result<T, String> {
    let mut members = Map::new();
    for (name, text) in texts {
        let said = &schema["properties"][name]["type"];
        let kinds: Vec<&str> = said.as_array().into_iter().flatten().chain([said]).filter_map(Value::as_str).collect();
        let is_text = kinds.is_empty() || kinds.contains(&"string");
        let parsed = if is_text { None } else { serde_json::from_str(text).ok() };
        members.insert(name.clone(), parsed.unwrap_or_else(|| Value::from(text.as_str())));
    }
    serde_path_to_error::deserialize(Value::Object(members)).map_err(|e| {
        let (path, e) = (e.path().to_string(), e.into_inner());
        if path == "." { e.to_string() } else { format!("{path}: {e}") }
    })
}

/// Whether a flat rule permits a value: its type, enumeration and bounds.
pub(crate) fn admits(rule: &Value, value: &Value) -> bool {
    if rule["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        return false;
    }
    for choices in ["oneOf", "anyOf"] {
        if rule[choices].as_array().is_some_and(|all| !all.iter().any(|c| c["const"] == *value)) {
            return false;
        }
    }
    let within = |low: &str, high: &str, size: f64| {
        rule[low].as_f64().is_none_or(|least| size >= least) && rule[high].as_f64().is_none_or(|most| size <= most)
    };
    let kind = rule["type"].as_str();
    let is = |name: &str| kind.is_none_or(|k| k == name);
    match value {
        Value::String(s) => is("string") && within("minLength", "maxLength", s.chars().count() as f64),
        Value::Bool(_) => is("boolean"),
        Value::Number(n) => {
            let n = n.as_f64().unwrap_or(f64::NAN);
            (is("number") || (kind == Some("integer") && n.fract() == 0.0)) && within("minimum", "maximum", n)
        }
        Value::Array(items) => {
            let each = rule.get("items").is_none_or(|rule| items.iter().all(|i| admits(rule, i)));
            is("array") && each && within("minItems", "maxItems", items.len() as f64)
        }
        Value::Object(_) | Value::Null => kind.is_none(),
    }
}
