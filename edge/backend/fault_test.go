package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// What keeps a target from being reached is named as what it is.
func TestWhyTargetsCannotBeReached(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none.sock")
	closed := freeAddr(t)
	for name, c := range map[string]struct {
		cfg  Config
		want []string
	}{
		"a missing socket": {Config{Target: "unix://" + socket}, []string{"there is no Unix socket " + socket}},
		"a refused port":   {Config{Target: closed}, []string{"nothing listens at " + closed, "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Name = "shop"
			i, err := Inspect(c.cfg, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			lacks := func(want string) bool { return !strings.Contains(err.Error(), want) }
			// The reason is known once the first attempt has failed, for which a machine under load needs longer.
			for within := 500 * time.Millisecond; within < await.Patience; within *= 4 {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				err = i.Connect(ctx, time.Minute)
				cancel()
				if err == nil {
					t.Fatal("it is reached")
				}
				if !slices.ContainsFunc(c.want, lacks) {
					break
				}
			}
			for _, want := range c.want {
				if lacks(want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "Error while dialing") {
				t.Error(err)
			}
		})
	}
}

// A proxy is named, without its password, and names behind it are not looked up here.
func TestProxiesAreNamed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://me:secret@127.0.0.1:3128")
	t.Setenv("NO_PROXY", "near.internal")
	said := status.Error(codes.Unavailable,
		`last connection error: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:3128: connect: connection refused"`)
	for target, want := range map[string]bool{"dns:///shop.internal:50051": true, "shop.internal:50051": true, "near.internal:50051": false, "unix:///a.sock": false, "127.0.0.1:1": false} {
		text := explain(said, target, false).Error()
		if strings.Contains(text, "through the proxy http://me:xxxxx@127.0.0.1:3128, by HTTPS_PROXY") != want || strings.Contains(text, "secret") {
			t.Errorf("%s: %s", target, text)
		}
	}
	other := status.Error(codes.Unavailable, "error reading server preface: EOF")
	if explain(other, "a:1", true) != other {
		t.Error("another fault is not what it was")
	}
	if plain := explain(other, "a:1", false); !errors.Is(plain, other) || !strings.Contains(plain.Error(), "if the backend speaks TLS, give it tls: {}") {
		t.Errorf("without TLS: %v", plain)
	}
}

// A target that accepts connections and sends nothing has another error than one with another
// protocol, with TLS and without.
func TestFaultOfSilentTargets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tune := fast
	for name, creds := range map[string]credentials.TransportCredentials{"plaintext": nil, "TLS": credentials.NewTLS(&tls.Config{ServerName: "x"})} { // #nosec G402 -- it gets no answer
		silent := func() bool {
			i, err := Inspect(Config{Name: "shop", Target: l.Addr().String(), Credentials: creds}, Options{tune: &tune})
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			err = i.Connect(t.Context(), 0)
			t.Logf("%s, within %v: %v", name, tune.connect, err)
			return err != nil && strings.HasPrefix(err.Error(), l.Addr().String()+" takes connections and does not answer")
		}
		// The connection must be there before its time is over, for which a machine under load needs longer.
		for tune.connect = 50 * time.Millisecond; ; tune.connect *= 4 {
			if tune.dialMin, tune.dialMax = tune.connect, tune.connect; silent() {
				break
			}
			if tune.connect > await.Patience {
				t.Fatalf("%s: it has another error", name)
			}
		}
	}
}
