package backend

import (
	"fmt"
	"strings"
	"testing"
	"time"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// TestOwnListsAreBoundedByBytes: a caller's own list has a lower bound than a shared one, and the
// cached ones have a common bound.
func TestOwnListsAreBoundedByBytes(t *testing.T) {
	l := &list{most: MaxOwnListBytes}
	_, err := pages(l, "ListTools", &l.hint, func(string) (page[*pb.Tool], error) { return page[*pb.Tool]{bytes: MaxOwnListBytes + 1}, nil })
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(MaxOwnListBytes)) {
		t.Errorf("a list of more than its bound: %v", err)
	}
	var kept private
	kept.init(MaxPrincipals)
	for i := range 20 {
		kept.put(fmt.Sprint(i), &own{catalog: &Catalog{OwnBytes: MaxOwnListBytes}, read: time.Now()}, 0)
		if kept.entries.Weight() > maxOwnBytes {
			t.Fatalf("%d bytes are kept of %d callers", kept.entries.Weight(), i+1)
		}
	}
	if found, _ := kept.get("19"); found == nil || kept.entries.Len() != maxOwnBytes/MaxOwnListBytes {
		t.Errorf("%d are kept", kept.entries.Len())
	}
}
