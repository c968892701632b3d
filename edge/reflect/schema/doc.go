// Package schema generates JSON Schema 2020-12 for protobuf messages in protobuf's JSON mapping.
//
// An input schema accepts the canonical forms of the mapping: members under their JSON names, enums
// by name, 64-bit integers as strings or numbers, bytes in either base64 alphabet. It enforces
// required fields (google.api.field_behavior, protovalidate, proto2) and protovalidate's standard
// rules. A rule that it cannot express becomes a note. For canonical JSON it agrees with
// protovalidate, except for the noted rules.
//
// An output schema describes the output of protojson with default values. It has no rules, because
// a service's responses are not validated.
//
// Both have an object at their root. A message whose JSON is not an object (a Timestamp, a wrapper)
// becomes the member "value".
package schema
