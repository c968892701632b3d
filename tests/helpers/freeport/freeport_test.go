package freeport

import (
	"net"
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

// A port whose server is not there yet is given to nobody else of the process.
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
