use crate::plain;
use mcpedge_capability::Server;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Regional {
    /// Goes into the header Mcp-Param-Region too
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

pub fn add(server: Server) -> Server {
    let called = |arguments: Value| async move { format!("Called with {arguments}") };
    let dialect = plain("json_schema_2020_12_tool", "Has an input schema with keywords of JSON Schema 2020-12", called);
    let region = |r: Regional| async move { format!("region={}", r.region) };
    server.with(dialect.input_schema(&schema())).with(plain(
        "test_x_mcp_header",
        "Has an argument that travels in a header as well",
        region,
    ))
}

fn schema() -> Value {
    let address = json!({"street": {"type": "string"}, "city": {"type": "string"}});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": address}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
