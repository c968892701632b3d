// Package jsonrpc parses and prints JSON-RPC 2.0 messages, their ids and batches, as the Model
// Context Protocol uses them (Base Protocol, "Messages").
//
// It reads the envelope only: one pass over the bytes validates the whole text and notes where the
// members of the envelope stand. What is inside params, result and error stays the sender's JSON,
// byte for byte; [Members], [Member] and [Unquote] are the ways to look into it.
//
// Nothing here panics or recurses without bound, whatever the input. Nothing uses reflection.
// All functions may be called concurrently; none keeps or changes its input.
package jsonrpc

// MaxDepth is the deepest nesting of arrays and objects that is read, counted from the outermost
// value of the text given (an envelope, or a batch, counts as a level of its own).
const MaxDepth = 128

// MaxIDLen bounds the JSON text of a request id, in bytes. Ids are echoed, logged and used as keys,
// so a message with a longer one is invalid.
const MaxIDLen = 1024
