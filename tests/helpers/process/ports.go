package process

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The ports are below those that systems allocate to outgoing connections: the port of a program
// that restarts stays free, and a client that dials it meanwhile does not connect to itself.
const lowest, highest = 15000, 32000

// FreeAddrs returns n loopback addresses that were free when checked.
func FreeAddrs(n int) ([]string, error) {
	var addrs []string
	for tries := 0; len(addrs) < n; tries++ {
		addr := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			if tries > 1000 {
				return nil, fmt.Errorf("no free port from %d to %d: %w", lowest, highest, err)
			}
			continue
		}
		defer l.Close() // closed at the end, so that no port is returned twice
		addrs = append(addrs, addr)
	}
	return addrs, nil
}
