// Package freeport gives tests and benchmarks addresses that they close and open again, such as that of
// a server which is restarted. A port from net.Listen(":0") does not serve for that: once it is closed,
// the system may give it to any other process or connection.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
)

// Systems choose ports for themselves from 32768 on at the lowest.
const first, end = 10000, 32768

// last is the port that was tried last. Each process begins somewhere and goes on from there, so that it gives no port twice: a program
// may take half a minute until it opens its own.
var last atomic.Uint32

func init() { last.Store(rand.Uint32N(end - first)) }

// Listen listens on a port of loopback that the system gives to nobody who does not name it, and this process gave to nobody before.
func Listen() (net.Listener, error) {
	var failed error
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+last.Add(1)%(end-first)))
		if err == nil {
			return l, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("a hundred ports from %d to %d were tried: %w", first, end-1, failed)
}

// Addr returns an address, host:port, on which Listen could listen a moment ago.
func Addr() (string, error) {
	l, err := Listen()
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
