package process

import "github.com/mcpedge/mcpedge/tests/helpers/freeport"

// FreeAddrs returns n loopback addresses of package freeport, for programs that are started later:
// no other test program gets them.
func FreeAddrs(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		var err error
		if addrs[i], err = freeport.Addr(); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}
