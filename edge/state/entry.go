package state

// EntryKind is the kind of an entry. It decides whether the entry may be dropped.
type EntryKind uint8

// The kinds of entries.
const (
	// EntryProgress and EntryLog may be dropped when the log is full.
	EntryProgress EntryKind = iota + 1
	EntryLog
	// EntryNotice is another notification; it is kept.
	EntryNotice
	// EntryRequest is a request to the client; it is kept.
	EntryRequest
	// EntryResponse ends a call; it is kept.
	EntryResponse
)

// Droppable reports whether an entry of the kind may be dropped.
func (k EntryKind) Droppable() bool { return k == EntryProgress || k == EntryLog }

// PinnedBytes returns the bytes of entries that may not be dropped, without questions.
func PinnedBytes(entries []Entry) (n int) {
	for i := range entries {
		if k := entries[i].Kind; k == EntryNotice || k == EntryResponse {
			n += len(entries[i].Data)
		}
	}
	return n
}

// Entry is one event of a stream. Data is a whole JSON-RPC message, immutable once appended.
type Entry struct {
	Kind EntryKind
	Data []byte
	// Progress is the value of an EntryProgress. The medium keeps the highest with the call.
	Progress float64
	// Completes is the key of the URL elicitation that an EntryNotice completes and that leaves the
	// call's open elicitations (see Claim). Empty means none.
	Completes string
	// Seq is set by the medium.
	Seq uint64
}
