// Package freeport gives tests and benchmarks addresses that they close and open again, such as that of
// a server which is restarted. A port from net.Listen(":0") does not serve for that: once it is closed,
// the system may give it to any other process or connection.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

const (
	// first and end bound the ports. Systems choose ports for themselves from 32768 on at the lowest.
	first, end = 10000, 32768
	// blockSize is the number of ports in a block. A process claims a block by listening on its first port and gives out the others.
	blockSize = 256
	blocks    = (end - first) / blockSize
)

// free are the ports that this process may give out next, each once: a program may take half a minute until it opens its own, and test
// programs run beside each other.
var free struct {
	sync.Mutex
	next, last int
	// claims are the listeners on the first ports of this process's blocks, open until it ends.
	claims []net.Listener
}

// next returns a port that no process got from this package before, as long as one is left.
func next() int {
	free.Lock()
	defer free.Unlock()
	if free.next == free.last {
		claim()
	}
	port := free.next
	free.next++
	return port
}

// claim takes a block that no other process has. Without one it takes some block, whose ports another process may be giving out.
func claim() {
	block := rand.IntN(blocks)
	for range blocks {
		block = (block + 1) % blocks
		if l, err := net.Listen("tcp", address(first+block*blockSize)); err == nil {
			free.claims = append(free.claims, l)
			break
		}
	}
	free.next, free.last = first+block*blockSize+1, first+(block+1)*blockSize
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// Listen listens on a port of loopback that the system gives to nobody who does not name it, and that neither this process nor another one
// that uses this package was given before.
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

// Addr returns an address, host:port, on which Listen could listen a moment ago.
func Addr() (string, error) {
	l, err := Listen()
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
