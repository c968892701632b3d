package redis

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// A script costs Redis as much for each argument as for a small command, and a log as much for each
// entry. So the entries of a write are one argument, and the droppable ones are kept in chunks,
// which scripts need not open until the log is full. Both are MessagePack arrays, which scripts can
// read, in these forms only:
const (
	packedArray  = 0xdd
	packedString = 0xdb
	packedInt    = 0xd2
)

const (
	// chunkEntries and chunkBytes bound a chunk: an entry that is dropped is freed only with its
	// chunk.
	chunkEntries, chunkBytes = 64, 64 << 10
	// chunkItem bounds the size of an entry in a chunk in addition to its data.
	chunkItem = 3*5 + 1 + 24
)

// packEntries packs entries as one argument for the scripts' function addall. For each chunk, an
// array of five: "s", the chunk, the number of its entries, the bytes of their data, the highest
// progress or nothing. For each other entry: kind, data, 1, the bytes of its data, nothing. Before an entry that completes an
// elicitation: "o", its key. For droppable entries of more than most bytes, which fit in no log:
// "x", nothing, their number, 0, the highest progress. It returns nil for no entries.
func packEntries(entries []state.Entry, most int) []byte {
	if len(entries) == 0 {
		return nil
	}
	size := 5
	for i := range entries {
		size += len(entries[i].Data) + len(entries[i].Completes) + 2*48
	}
	b := append(make([]byte, 0, size), packedArray, 0, 0, 0, 0)
	items := 0
	item := func(kind string, data []byte, count, bytes int, progress []byte) {
		b = packText(packText(b, kind), data)
		b = packText(packNumber(packNumber(b, count), bytes), progress)
		items += 5
	}
	var number [32]byte
	for len(entries) > 0 {
		if key := entries[0].Completes; key != "" {
			item("o", []byte(key), 0, 0, nil)
		}
		kind, data, n, bytes := nextItem(entries, most)
		item(kind, data, n, bytes, highest(number[:0], entries[:n]))
		entries = entries[n:]
	}
	binary.BigEndian.PutUint32(b[1:], uint32(items))
	return b
}

// nextItem packs the first item of a log: a chunk of droppable entries, whose kind is "s", or another
// entry. It has n entries with so many bytes of data. A droppable entry of more than most bytes, which
// fits in no log, is of kind "x" and without data.
func nextItem(entries []state.Entry, most int) (kind string, data []byte, n, bytes int) {
	e := &entries[0]
	switch {
	case !e.Kind.Droppable():
		return strconv.Itoa(int(e.Kind)), e.Data, 1, len(e.Data)
	case len(e.Data) > most:
		return "x", nil, 1, 0
	}
	n, bytes = chunkOf(entries, most)
	return "s", packChunk(entries[:n], bytes), n, bytes
}

// packLog packs a whole log as one argument for restore.lua: for each chunk and each other entry an
// array of six, as by packEntries, with the number of its last entry and its epoch. Entries that
// fit in no log are left out.
func packLog(log []medium.Entry, most int) []byte {
	b := []byte{packedArray, 0, 0, 0, 0}
	items := uint32(0)
	for len(log) > 0 {
		kind, data, n, bytes := nextItem(withoutEpochs(log[:contiguous(log)]), most)
		if kind != "x" {
			b = packText(packText(b, kind), data)
			b = packNumber(packNumber(b, n), bytes)
			b = packText(packText(b, text(log[n-1].Seq)), text(log[n-1].Epoch))
			items += 6
		}
		log = log[n:]
	}
	binary.BigEndian.PutUint32(b[1:], items)
	return b
}

// contiguous returns the number of leading entries without a gap under one epoch, at most chunkEntries.
func contiguous(log []medium.Entry) int {
	n := 1
	for n < min(len(log), chunkEntries) && log[n].Epoch == log[0].Epoch && log[n].Seq == log[n-1].Seq+1 {
		n++
	}
	return n
}

// withoutEpochs returns entries without their epochs.
func withoutEpochs(log []medium.Entry) []state.Entry {
	out := make([]state.Entry, len(log))
	for i := range log {
		out[i] = log[i].Entry
	}
	return out
}

// chunkOf returns the number of leading entries that make a chunk, and the bytes of their data. The
// first entry must be droppable and not too large.
func chunkOf(entries []state.Entry, most int) (n, bytes int) {
	for n < min(len(entries), chunkEntries) && entries[n].Kind.Droppable() {
		size := len(entries[n].Data)
		if size > most || n > 0 && bytes+size > chunkBytes {
			break
		}
		n, bytes = n+1, bytes+size
	}
	return n, bytes
}

// highest appends the highest progress as text. It appends nothing if there is none.
func highest(b []byte, entries []state.Entry) []byte {
	top, ok := 0.0, false
	for i := range entries {
		if e := &entries[i]; e.Kind == state.EntryProgress && (!ok || e.Progress > top) {
			top, ok = e.Progress, true
		}
	}
	if !ok {
		return nil
	}
	return strconv.AppendFloat(b, top, 'g', -1, 64)
}

// packChunk packs a chunk of entries: kind, data and progress of each.
func packChunk(entries []state.Entry, bytes int) []byte {
	b := append(make([]byte, 0, 5+bytes+len(entries)*chunkItem), packedArray)
	b = binary.BigEndian.AppendUint32(b, uint32(3*len(entries))) // #nosec G115 -- a chunk is bounded by the constant StreamEvents
	var number [32]byte
	for i := range entries {
		e := &entries[i]
		b = packText(b, strconv.AppendUint(number[:0], uint64(e.Kind), 10))
		b = packText(b, e.Data)
		b = packText(b, strconv.AppendFloat(number[:0], e.Progress, 'g', -1, 64))
	}
	return b
}

func packText[T string | []byte](b []byte, text T) []byte {
	b = binary.BigEndian.AppendUint32(append(b, packedString), uint32(len(text))) // #nosec G115 -- entries are bounded by streams.result-bytes
	return append(b, text...)
}

func packNumber(b []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(b, packedInt), uint32(n)) // #nosec G115 -- it is read as it is written
}

// readChunk appends the entries of one item of the Redis stream after a number, without droppable
// entries up to the floor.
func readChunk(to []state.Entry, v any, after, floor uint64) ([]state.Entry, error) {
	list, _ := v.([]any)
	item := reply{rest: list}
	digits, _, _ := strings.Cut(item.text(0), "-")
	last, fields := count(digits), reply{rest: item.list(1)}
	kind := state.EntryKind(count(fields.text(1))) // #nosec G115 -- packEntries wrote it, from an EntryKind
	switch {
	case last == 0:
		return to, errRecord
	case fields.text(0) == "s":
		return unpackChunk(to, fields.text(1), last, max(after, floor))
	case kind == 0 || fields.text(0) != "k" || fields.text(2) != "d":
		return to, errRecord
	}
	return append(to, state.Entry{Kind: kind, Data: []byte(fields.text(3)), Seq: last}), nil
}

// unpackChunk appends the entries of a chunk with a number above after. The last entry of the chunk
// has number last.
func unpackChunk(to []state.Entry, chunk string, last, after uint64) ([]state.Entry, error) {
	size, rest, ok := unpackLength(chunk, packedArray)
	if !ok || size%3 != 0 || uint64(size/3) > last { // #nosec G115 -- a length is not negative
		return to, errRecord
	}
	next := func() (field string) {
		var n int
		if n, rest, ok = unpackLength(rest, packedString); !ok || n > len(rest) {
			ok = false
			return ""
		}
		field, rest = rest[:n], rest[n:]
		return field
	}
	for seq := last - uint64(size/3) + 1; seq <= last; seq++ { // #nosec G115 -- a length is not negative
		e := state.Entry{Kind: state.EntryKind(count(next())), Seq: seq} // #nosec G115 -- packChunk wrote it, from an EntryKind
		data, progress := next(), next()
		if !ok || e.Kind == 0 {
			return to, errRecord
		}
		if seq > after {
			e.Data = []byte(data)
			e.Progress, _ = strconv.ParseFloat(progress, 64)
			to = append(to, e)
		}
	}
	return to, nil
}

func unpackLength(b string, form byte) (n int, rest string, ok bool) {
	if len(b) < 5 || b[0] != form {
		return 0, "", false
	}
	return int(binary.BigEndian.Uint32([]byte(b[1:5]))), b[5:], true
}
