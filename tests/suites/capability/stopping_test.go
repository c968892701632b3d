package capability

import (
	"bytes"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// stoppable is a fixture of a test's own, whose end is waited for.
type stoppable struct {
	cmd      *exec.Cmd
	addr     string
	out, log bytes.Buffer // to be read when it has ended
	ended    chan error
}

func startStoppable(t *testing.T) *stoppable {
	t.Helper()
	addrs, err := process.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(*command)
	s := &stoppable{addr: addrs[0], cmd: exec.Command(words[0], append(words[1:], "--listen", addrs[0])...), ended: make(chan error, 1)}
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // unless it has ended
	go func() { s.ended <- s.cmd.Wait() }()
	await.Until(t, "it serves", func() bool {
		conn, err := net.Dial("tcp", s.addr)
		return err == nil && conn.Close() == nil
	})
	return s
}

// stops is an error unless the program ends well on SIGTERM and wrote nothing to its standard output.
func (s *stoppable) stops(t *testing.T) {
	t.Helper()
	if err := await.Receive(t, "its end", s.ended); err != nil || s.out.Len() > 0 {
		t.Errorf("it ended with %v, and wrote to standard output %q, to standard error %q", err, s.out.String(), s.log.String())
	}
}

func (s *stoppable) terminate(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// The program writes nothing to its standard output, and ends well on SIGTERM.
func TestProgram(t *testing.T) {
	s := startStoppable(t)
	s.terminate(t)
	s.stops(t)
}

// A call that outlasts the grace of a program that was told to end is UNAVAILABLE, and the program ends well all the same.
func TestStoppedWhileACallHangs(t *testing.T) {
	s := startStoppable(t)
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	tools := pb.NewToolServiceClient(conn)
	hangs, err := tools.CallTool(limit(t), &pb.CallToolRequest{Name: "gate", ArgumentsJson: "{}", Context: &pb.RequestContext{CallId: "hangs"}})
	if err != nil {
		t.Fatal(err)
	}
	begun := func() bool {
		stream, err := tools.CallTool(limit(t), &pb.CallToolRequest{Name: "counter", ArgumentsJson: `{"name":"gate.begun"}`})
		if err != nil {
			return false
		}
		r, err := stream.Recv()
		return err == nil && strings.Contains(r.GetResult().GetStructuredContentJson(), `1`)
	}
	await.Until(t, "the handler runs", begun)
	s.terminate(t)
	if r, err := hangs.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("a call that outlasts the grace ends with %v, %v, want UNAVAILABLE", r, err)
	}
	s.stops(t)
}
