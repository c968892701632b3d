package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// An announced length is worth memory only as its bytes arrive; what arrives is read whole, and charged as it is read.
func TestBodyGrowsAsItArrives(t *testing.T) {
	b := budget.New(1 << 30)
	for _, size := range []int{0, 1, smallBody, smallBody + 1, initialAlloc, initialAlloc + 1, 3*initialAlloc + 7, 1 << 20} {
		whole := bytes.Repeat([]byte("x"), size)
		for _, n := range []int64{int64(size), -1} {
			mem := b.Named("reader").Begin()
			got, err := read(iotest.HalfReader(bytes.NewReader(whole)), n, &mem)
			if err != nil || !bytes.Equal(got, whole) {
				t.Errorf("%d of %d bytes, announced as %d: %v", len(got), size, n, err)
			}
			want := int64(cap(got))
			if want <= smallBody {
				want = 0
			}
			if held := mem.Held(budget.Requests); held != want {
				t.Errorf("%d bytes, announced as %d: %d are charged, want %d", size, n, held, want)
			}
			mem.Release()
		}
	}
	mem := b.Named("reader").Begin()
	got, err := read(strings.NewReader("x"), 4<<20, &mem)
	if err != io.ErrUnexpectedEOF || cap(got) > initialAlloc {
		t.Errorf("1 byte of 4 MiB takes %d bytes, %v; want at most %d and an unexpected end", cap(got), err, initialAlloc)
	}
	mem.Release()
	if used, holders := b.Used(); used != 0 || holders != 0 {
		t.Errorf("%d bytes of %d holders are left", used, holders)
	}
}

// A body for which there is no room is refused before it is read; a small one is read, since it may make room.
func TestBodyWithoutRoom(t *testing.T) {
	b := budget.New(1 << 20)
	hog, err := b.Holder("", "hog", netip.Addr{}).Reserve(budget.Logs, b.Limit()*9/10)
	if err != nil {
		t.Fatal(err)
	}
	defer hog.Release()
	d := NewGuard(nil, Options{Budget: b})
	post := func(subject string, size int) (*httptest.ResponseRecorder, error) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
		r.Header.Set("Content-Type", TypeJSON)
		w := httptest.NewRecorder()
		var mem budget.Reservation
		d.Charge(&mem, mcp.Principal{Subject: subject}, d.Address(r))
		defer mem.Release()
		body, ok := d.Message(w, r, &mem)
		if ok && len(body) != size {
			t.Errorf("%d of %d bytes", len(body), size)
		}
		return w, mem.Check()
	}
	w, _ := post("hog", 20<<10)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "-31503") {
		t.Errorf("a hog's body: %d %v %s; want 503, Retry-After and -31503", w.Code, w.Header(), w.Body)
	}
	full := (*budget.Full)(nil)
	if w, err := post("hog", 100); w.Code != http.StatusOK || !errors.As(err, &full) {
		t.Errorf("a hog's small body: %d, %v; want it read, and no room", w.Code, err)
	}
	for _, size := range []int{100, 20 << 10} {
		if w, err := post("newcomer", size); w.Code != http.StatusOK || err != nil {
			t.Errorf("a newcomer's body of %d bytes: %d %s, %v", size, w.Code, w.Body, err)
		}
	}
	if used, holders := b.Used(); used != hog.Held(budget.Logs) || holders != 1 {
		t.Errorf("%d bytes of %d holders are left", used, holders)
	}
}
