package program

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// untilSignal serves until its context ends.
type untilSignal struct{ serving chan string }

func (s untilSignal) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close()
	s.serving <- l.Addr().String()
	<-ctx.Done()
	return nil
}

func TestRunUntilSIGTERM(t *testing.T) {
	s := untilSignal{make(chan string)}
	ended := make(chan error)
	go func() { ended <- run("test", "127.0.0.1:0", func() (Service, error) { return s, nil }) }()
	if address := <-s.serving; !strings.HasPrefix(address, "127.0.0.1:") {
		t.Errorf("serving at %s", address)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestRunFails(t *testing.T) {
	broken := errors.New("broken")
	if err := run("test", "127.0.0.1:0", func() (Service, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("a service that cannot be made: %v", err)
	}
	if err := run("test", "nowhere", func() (Service, error) { return untilSignal{}, nil }); err == nil {
		t.Error("listening nowhere succeeded")
	}
}
