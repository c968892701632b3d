package app

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// The means to identify callers to backends that are gone are dropped, so that Services that come and go take no memory.
func TestSignersAreForgotten(t *testing.T) {
	var w identitySigners
	a, b := &config.Backend{Name: "a"}, &config.Backend{Name: "team/b"}
	kept, gone := w.signerOf(a, "i"), w.signerOf(b, "i")
	w.forget(func(name string) bool { return strings.Contains(name, "/") })
	if w.signerOf(a, "i") != kept || w.signerOf(b, "i") == gone {
		t.Error("the signer of a backend that stays is another one, or that of one that is gone stays")
	}
}
