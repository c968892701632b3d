package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// An origin is sent once: of two, the page's is unknown.
func TestOriginSentTwice(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = "localhost"
	r.Header["Origin"] = []string{"http://localhost", "https://evil.example"}
	w := httptest.NewRecorder()
	if _, ok := NewGuard(nil, Options{Hosts: []string{"localhost"}}).Admit(w, r, "GET"); ok || w.Code != http.StatusForbidden {
		t.Errorf("let in: %t, status %d; want 403", ok, w.Code)
	}
}
