package process

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports below those that systems give to outgoing connections: a program that is down for a moment finds
// its port free when it comes back, and nobody who dials it meanwhile is connected to himself.
const lowest, highest = 15000, 32000

// FreeAddrs returns n loopback addresses that were free a moment ago.
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
		defer l.Close() // at the end, so that no port is handed out twice
		addrs = append(addrs, addr)
	}
	return addrs, nil
}
