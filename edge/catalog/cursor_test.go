package catalog

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/revision"
)

func FuzzCursor(f *testing.F) {
	f.Add(cursor{list: listTools, owner: "a", pos: 7, hash: 9}.String())
	f.Add(cursor{list: listTools, owner: "a", pos: 7, hash: 9, entitlement: 5}.String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if c, ok := decodeCursor(text); ok && c.String() != text {
			t.Errorf("%q is read as %+v, which is %q", text, c, c.String())
		}
	})
}

func TestEntryThatCannotBeRenderedIsLeftOut(t *testing.T) {
	var log bytes.Buffer
	l := newList(listTools, &reporter{log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, name := range []string{"first", "bad", "worse", "last"} {
		l.Entries = append(l.Entries, &entry{owner: "a", key: name, hash: keyHash(name), render: func(dst []byte, _ *revision.Rules) ([]byte, error) {
			if name == "bad" || name == "worse" {
				return append(dst, "half"...), errors.New("no")
			}
			return append(dst, `"`+name+`"`...), nil
		}})
	}
	l.spans["a"] = span{0, 4}
	for range 2 {
		if got, last := l.under(revision.Stateless()).page(0, 10, 100); string(got) != `"first","last"` || last != -1 {
			t.Errorf("got %s, last %d", got, last)
		}
	}
	if n := strings.Count(log.String(), "left out"); n != 2 {
		t.Errorf("%d reports: %s", n, log.String())
	}
	// Pages continue after an omitted entry.
	got, last := l.under(revision.Stateless()).page(0, 1, 100)
	if start, ok := l.after(l.cursorAt(last, 0)); string(got) != `"first"` || !ok || start != 1 {
		t.Errorf("got %s, then from %d", got, start)
	}
}
