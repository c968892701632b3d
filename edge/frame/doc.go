// Package frame cuts byte streams into messages and back: server-sent events (WHATWG HTML, section
// "Server-sent events") for the HTTP transports, and lines for stdio (MCP, Transports, "stdio").
//
// What is read is bounded by the caller; nothing a peer sends can make a reader hold more.
package frame

import "errors"

// The errors of readers and writers, to be told with [errors.Is].
var (
	// ErrEventTooLong ends a [Reader]: an event was longer than its bound.
	ErrEventTooLong = errors.New("frame: event too long")
	// ErrLineTooLong is one line's; a [LineReader] goes on with the next.
	ErrLineTooLong = errors.New("frame: line too long")
	// ErrRawNewline refuses a message that would be read as several lines; compact it first.
	ErrRawNewline = errors.New("frame: message holds a line feed or carriage return")
	// ErrEmptyLine refuses a message of no bytes, which readers skip.
	ErrEmptyLine = errors.New("frame: message is empty")
)
