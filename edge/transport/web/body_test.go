package web

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An announced length is worth memory only as its bytes arrive; what arrives is read whole.
func TestBodyGrowsAsItArrives(t *testing.T) {
	whole := bytes.Repeat([]byte("x"), 3*atOnce+7)
	got, err := grow(bytes.NewReader(whole), int64(len(whole)))
	if err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d of %d bytes, %v", len(got), len(whole), err)
	}
	got, err = grow(strings.NewReader("x"), 4<<20)
	if err != io.ErrUnexpectedEOF || cap(got) > 2*atOnce {
		t.Errorf("1 byte of 4 MiB takes %d bytes, %v; want at most %d and an unexpected end", cap(got), err, 2*atOnce)
	}
}

// An origin is sent once: which of two a page has nobody can tell.
func TestOriginSentTwice(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = "localhost"
	r.Header["Origin"] = []string{"http://localhost", "https://evil.example"}
	w := httptest.NewRecorder()
	if _, ok := NewDoor(nil, Options{Hosts: []string{"localhost"}}).Enter(w, r, "GET"); ok || w.Code != http.StatusForbidden {
		t.Errorf("let in: %t, status %d; want 403", ok, w.Code)
	}
}
