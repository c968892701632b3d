// Package frame encodes and decodes messages in byte streams: server-sent events (WHATWG HTML,
// section "Server-sent events") for the HTTP transports, and lines for stdio (MCP, Transports,
// "stdio").
//
// The caller sets the limits of a reader; a peer cannot make it hold more.
package frame

import "errors"

// The errors of readers and writers, for [errors.Is].
var (
	// ErrEventTooLong ends a [Reader] because an event exceeds the limit.
	ErrEventTooLong = errors.New("frame: event too long")
	// ErrLineTooLong concerns one line; a [LineReader] continues with the next.
	ErrLineTooLong = errors.New("frame: line too long")
	// ErrRawNewline refuses a message with line breaks, which would be read as several lines;
	// compact it first.
	ErrRawNewline = errors.New("frame: message holds a line feed or carriage return")
	// ErrEmptyLine refuses an empty message, which readers skip.
	ErrEmptyLine = errors.New("frame: message is empty")
)
