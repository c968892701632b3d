//go:build access

package access

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

var update = flag.Bool("update", false, "write the transcripts in testdata")

// shared is the Keycloak of the package, which TestMain starts beside the tests that do without.
var shared struct {
	ready chan struct{}
	*keycloak
	err error
	// recipe is the address of the edge that the realm is for which Keycloak imports itself.
	recipe string
}

func TestMain(m *testing.M) {
	flag.Parse()
	shared.ready = make(chan struct{})
	if shared.recipe, shared.err = freeport.Addr(); shared.err != nil {
		fmt.Fprintln(os.Stderr, shared.err)
		os.Exit(1)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // Keycloak ends with the thread that starts it
		shared.keycloak, shared.err = startKeycloak(ctx, "http://"+shared.recipe)
		close(shared.ready)
		<-ctx.Done()
		if shared.keycloak == nil {
			return
		}
		if err := shared.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	go func() { _ = pipPackages() }() // whoever needs them is told
	code := m.Run()
	stop()
	<-ended
	os.Exit(code)
}

// theKeycloak awaits the Keycloak of the package.
func theKeycloak(t *testing.T) *keycloak {
	t.Helper()
	uses(t, "java", "mvn")
	<-shared.ready
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.keycloak
}
