package freeport

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
)

func TestPortsCanBeOpenedAgain(t *testing.T) {
	for range 20 {
		addr, err := Addr()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if port := l.Addr().(*net.TCPAddr).Port; port < first || port >= end {
			t.Errorf("port %d is one the system may give to others", port)
		}
		_ = l.Close()
	}
}

// A port is handed out once, even if its server has not started.
func TestNoPortIsGivenTwice(t *testing.T) {
	given := map[string]bool{}
	for range 1000 {
		addr, err := Addr()
		if err != nil {
			t.Fatal(err)
		}
		if given[addr] {
			t.Fatalf("%s was given twice", addr)
		}
		given[addr] = true
	}
}

// TestMain makes the test program hand out ports instead of testing, as a second process.
func TestMain(m *testing.M) {
	if os.Getenv("FREEPORT_GIVE") == "" {
		os.Exit(m.Run())
	}
	for range ports {
		addr, err := Addr()
		if err != nil {
			panic(err)
		}
		fmt.Println(addr)
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // It keeps its ports until it ends.
}

// ports is the number of ports that a process of TestNoPortIsGivenToTwoProcesses takes: several
// blocks.
const ports = 3 * blockSize

// Concurrent processes get different ports.
func TestNoPortIsGivenToTwoProcesses(t *testing.T) {
	given := map[string]int{}
	for process := range 3 {
		cmd := exec.Command(os.Args[0]) // #nosec G204 -- this program
		cmd.Env = append(os.Environ(), "FREEPORT_GIVE=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
		lines := bufio.NewScanner(out)
		for range ports {
			if !lines.Scan() {
				t.Fatalf("process %d gave fewer ports: %v", process, lines.Err())
			}
			if other, twice := given[lines.Text()]; twice {
				t.Fatalf("processes %d and %d were given %s", other, process, lines.Text())
			}
			given[lines.Text()] = process
		}
	}
}
