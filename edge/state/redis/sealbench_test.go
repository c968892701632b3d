package redis

import (
	"bytes"
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// BenchmarkCommit is what a step of a call with one event of a size takes before it is sent, and, as "read", the event when it is read.
func BenchmarkCommit(b *testing.B) {
	for _, keys := range [][][]byte{nil, {make([]byte, 32)}} {
		c := goredis.NewClient(&goredis.Options{})
		r, err := New(c, Options{Keys: keys})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = r.Close(); _ = c.Close() })
		for _, size := range []int{1 << 10, 64 << 10} {
			e := state.Entry{Kind: state.EntryNotice, Data: bytes.Repeat([]byte("x"), size)}
			name := fmt.Sprintf("keys=%d/%d KiB", len(keys), size>>10)
			b.Run(name, func(b *testing.B) {
				w := &medium.Write{Session: "s", Stream: "st", Call: "c", Epoch: 1, N: 1, Entries: []state.Entry{e}}
				b.ReportAllocs()
				for b.Loop() {
					r.commitArgs(w)
				}
			})
			stored := string(r.seals.sealEntries("s", "st", []state.Entry{e})[0].Data)
			b.Run(name+", read", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := r.readLog("s", "st", []any{[]any{"1-0", []any{"k", "3", "d", stored}}}, 0, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
