// Package serve is how the servers of the benchmarks serve HTTP: on a free port, with the Go runtime's
// profiles on another, so that being observed costs a request nothing.
package serve

import (
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // on the default mux
)

// HTTP serves h until the process ends. Its first line of output is the two addresses: that of h, and
// that of /debug/pprof/.
func HTTP(h http.Handler) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	admin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(http.Serve(admin, nil)) }()
	fmt.Println(l.Addr(), admin.Addr())
	log.Fatal(http.Serve(l, h))
}
