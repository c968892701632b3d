// Package freeport returns addresses that tests and benchmarks can close and open again, such as
// that of a server that restarts. A port of net.Listen(":0") is not suitable: once closed, the
// system may give it to another process or connection.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

const (
	// first and end are the range of the ports. Systems allocate ports automatically from 32768 on.
	first, end = 10000, 32768
	// blockSize is the number of ports in a block. A process claims a block by listening on its
	// first port, and hands out the others.
	blockSize = 256
	blocks    = (end - first) / blockSize
)

// freePorts are the ports that this process may hand out, each once: a program may take half a minute
// until it opens its port, while other test programs run.
var freePorts struct {
	sync.Mutex
	next, last int
	// claims are the listeners on the first ports of this process's blocks. They stay open until it
	// ends.
	claims []net.Listener
}

// next returns a port that was never handed out by this package, as long as there is one.
func next() int {
	freePorts.Lock()
	defer freePorts.Unlock()
	if freePorts.next == freePorts.last {
		claim()
	}
	port := freePorts.next
	freePorts.next++
	return port
}

// claim claims a block that no other process has. If there is none, it takes any block, whose ports
// another process may hand out too.
func claim() {
	block := rand.IntN(blocks)
	for range blocks {
		block = (block + 1) % blocks
		if l, err := net.Listen("tcp", address(first+block*blockSize)); err == nil {
			freePorts.claims = append(freePorts.claims, l)
			break
		}
	}
	freePorts.next, freePorts.last = first+block*blockSize+1, first+(block+1)*blockSize
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// Listen listens on a loopback port that the system does not allocate automatically, and that this
// package has handed out neither in this nor in another process.
func Listen() (net.Listener, error) {
	var failed error
	for range 100 {
		l, err := net.Listen("tcp", address(next()))
		if err == nil {
			return l, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("a hundred ports from %d to %d were tried: %w", first, end-1, failed)
}

// Addr returns an address, host:port, on which Listen has just succeeded.
func Addr() (string, error) {
	l, err := Listen()
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
