package jsonrpc

import "fmt"

// BatchEntry is one element of a batch: a message, or the reason why it is none.
type BatchEntry struct {
	Message
	Err error // nil or a *ParseError; Offset counts from the start of the batch
}

// IsBatch reports whether data must be parsed by [ParseBatch]: its first byte after white space is
// an opening bracket.
func IsBatch(data []byte) bool { return TypeOf(data) == Array }

// ParseBatch parses an array of messages (MCP 2025-03-26, Base Protocol, "Batching"), in order. An
// element that is JSON but not a message has its own error. Malformed JSON, an empty array, and
// more than max elements are an error of the whole batch, always a [*ParseError]; a max below one
// allows none. The caller checks which kinds occur together, and whether ids repeat.
func ParseBatch(data []byte, max int) ([]BatchEntry, error) {
	s := scanner{data: data}
	s.space()
	start := s.pos
	if !s.at('[') {
		if !s.text() {
			return nil, s.parseError()
		}
		return nil, &ParseError{Code: CodeInvalidRequest, Message: "one value where a batch is expected; send an array of messages", Offset: start}
	}
	s.open()
	var entries []BatchEntry
	for more := s.firstElement(); more; more = s.nextElement() {
		if len(entries) >= max {
			return nil, &ParseError{
				Code:    CodeInvalidRequest,
				Message: fmt.Sprintf("the batch has more than %d messages; send smaller ones", max),
				Offset:  s.pos, TooMany: true,
			}
		}
		var e envelope
		if !s.envelope(&e) {
			break
		}
		entries = append(entries, e.entry())
	}
	if s.fault != noFault || !s.end() {
		return nil, s.parseError()
	}
	if len(entries) == 0 {
		return nil, &ParseError{Code: CodeInvalidRequest, Message: "the batch is empty; send at least one message", Offset: start}
	}
	return entries, nil
}

func (e *envelope) entry() BatchEntry {
	m, err := e.message()
	if err != nil {
		return BatchEntry{Err: err}
	}
	return BatchEntry{Message: m}
}
