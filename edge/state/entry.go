package state

// EntryKind says what an entry is, which decides whether it may be dropped.
type EntryKind uint8

// The kinds of entries.
const (
	// EntryProgress and EntryLog may be dropped when the log is full.
	EntryProgress EntryKind = iota + 1
	EntryLog
	// EntryNotice is another notification; kept.
	EntryNotice
	// EntryRequest is a request to the client; kept.
	EntryRequest
	// EntryResponse ends a call; kept.
	EntryResponse
)

// Entry is one event of a stream. Data is a whole JSON-RPC message, immutable once appended.
type Entry struct {
	Kind EntryKind
	Data []byte
	// Progress is the value of an EntryProgress; the medium keeps the highest with the call.
	Progress float64
	// Completes is the key of the URL elicitation whose completion an EntryNotice tells: it leaves the
	// call's open elicitations (see Claim). Empty: none.
	Completes string
	// Seq is set by the medium.
	Seq uint64
}
