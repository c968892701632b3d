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
