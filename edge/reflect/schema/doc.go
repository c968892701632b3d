// Package schema writes JSON Schema 2020-12 for protobuf messages as protobuf's JSON mapping has them.
//
// An input schema takes what the mapping takes, in its canonical forms: members under their JSON names,
// enums by name, 64-bit integers as strings or numbers, bytes in either base64 alphabet. It holds the
// fields that are required (google.api.field_behavior, protovalidate, proto2) and protovalidate's
// standard rules. A rule it cannot hold is a note, never dropped in silence. Over canonical JSON it
// agrees with protovalidate, but for what the notes name.
//
// An output schema describes what protojson writes with its default values emitted. It holds no rules:
// what a service answers is its own affair.
//
// Both have an object at their root. A message whose JSON is no object (a Timestamp, a wrapper) stands
// as the member "value".
package schema
