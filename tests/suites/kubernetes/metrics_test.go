//go:build kubernetes && linux

package kubernetes

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// operations is how many requests each edge has served, by its metrics.
func (c *cluster) operations(t *testing.T, edges map[string]pod) map[string]int {
	t.Helper()
	out := map[string]int{}
	for name, p := range edges {
		resp, err := http.Get("http://" + addr(p.Status.PodIP, 9090) + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if line := lines.Text(); strings.HasPrefix(line, "mcp_server_operation_duration_seconds_count") {
				n, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
				if err != nil {
					t.Fatal(err)
				}
				out[name] += int(n)
			}
		}
		_ = resp.Body.Close()
	}
	return out
}
