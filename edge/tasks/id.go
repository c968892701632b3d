package tasks

import (
	"encoding/base32"
	"encoding/binary"
	"time"
)

// newID returns the id of a task that is created now: the time, so that ids sort by creation, and a
// random text (Options.Text).
func newID(now time.Time, text string) string {
	at := binary.BigEndian.AppendUint64(nil, uint64(now.UnixNano())) // #nosec G115 -- not negative until 2262
	return idTime.EncodeToString(at) + text
}

// idTime is an encoding that preserves the order of its inputs. timeText is the length of the time
// at the beginning of an id.
var idTime = base32.HexEncoding.WithPadding(base32.NoPadding)

const timeText = 13

// createdAt returns when the task with an id was created; zero if the id is invalid.
func createdAt(id string) time.Time {
	at, err := idTime.DecodeString(id[:min(len(id), timeText)])
	if err != nil || len(at) != 8 {
		return time.Time{}
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(at))) // #nosec G115 -- not beyond 2262
}
