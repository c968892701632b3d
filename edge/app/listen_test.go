package app

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// The error of a second edge on one machine names the address that is in use, and the setting that
// changes it.
func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := taken.Addr().String()
	for _, c := range []struct{ listen, admin, want string }{
		{at, "127.0.0.1:0", "listen.address: " + at + " is in use by another program or edge: stop it, or choose another address with --listen"},
		{"127.0.0.1:0", at, "admin.address: " + at + " is in use by another program or edge: stop it, or choose another address with --admin"},
	} {
		a := &App{cfg: config.Config{Listen: config.Listen{Address: c.listen}, Admin: config.Admin{Address: c.admin}}, log: slog.New(slog.DiscardHandler)}
		if _, _, err := a.listen(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
