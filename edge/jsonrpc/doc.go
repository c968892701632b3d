// Package jsonrpc parses and prints JSON-RPC 2.0 messages, their ids and batches, as the Model
// Context Protocol uses them (Base Protocol, "Messages").
//
// It reads only the envelope: one pass over the bytes validates the whole text and records where
// the members of the envelope are. The content of params, result and error stays the sender's JSON,
// byte for byte; [Members], [Member] and [Unquote] read it.
//
// No input causes a panic or unbounded recursion. Nothing uses reflection. All functions may be
// called concurrently. They do not keep their input; only [ReplaceLoneSurrogates] changes it.
package jsonrpc

// MaxDepth bounds the nesting of arrays and objects, counted from the outermost value of the text
// (an envelope and a batch count as one level each).
const MaxDepth = 128

// MaxIDLen bounds the JSON text of a request id, in bytes. A message with a longer id is invalid,
// because ids are echoed, logged and used as keys.
const MaxIDLen = 1024
