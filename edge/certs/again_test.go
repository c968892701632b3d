package certs

import (
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// A file that becomes unusable again, with the same content, is reported again once.
func TestBrokenAgain(t *testing.T) {
	e := open(t, authority.New(t, "ca").Server(t), nil)
	for i, text := range []string{"x", "y"} {
		authority.File(t, e.path("cert"), []byte(text))
		for range 3 {
			e.refresh()
		}
		if n := e.log.lines("stay in use"); n != i+1 {
			t.Errorf("%q: logged %d times", text, n)
		}
	}
}
