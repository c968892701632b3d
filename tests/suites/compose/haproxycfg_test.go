package compose

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const proxyConfig = "deploy/haproxy.cfg"

var (
	serverLine  = regexp.MustCompile(`(?m)^\s*server\s+(\S+)\s+([^:\s]+):(\d+)`)
	defaultLine = regexp.MustCompile(`(?m)^\s*default-server\s+(.*)$`)
	bindLine    = regexp.MustCompile(`(?m)^\s*bind\s+:(\d+)$`)
	timeoutLine = regexp.MustCompile(`(?m)^\s*timeout\s+(\S+)\s+(\S+)$`)
)

// after returns the word that follows another.
func after(words, word string) string {
	fields := strings.Fields(words)
	if i := slices.Index(fields, word); i >= 0 && i+1 < len(fields) {
		return fields[i+1]
	}
	return ""
}

// The proxy's servers are the edges, all of them, at the ports they listen on.
func TestProxyAgreesWithTheEdges(t *testing.T) {
	p := load(t)
	var servers []string
	for _, m := range serverLine.FindAllStringSubmatch(read(t, proxyConfig), -1) {
		name, host, port := m[1], m[2], m[3]
		servers = append(servers, name)
		s := p.Services[host]
		if s == nil || name != host {
			t.Fatalf("server %s is at %s, which is no service of that name", name, host)
		}
		if !slices.Contains(s.Command, "--listen=0.0.0.0:"+port) {
			t.Errorf("server %s is at port %s, the edge is started with %v", name, port, s.Command)
		}
	}
	if !slices.Equal(servers, p.edges()) {
		t.Errorf("servers %v, edges %v", servers, p.edges())
	}
}

// The proxy asks each edge for /readyz at its admin address.
func TestProxyAsksForReadiness(t *testing.T) {
	p, text := load(t), read(t, proxyConfig)
	port := after(defaultLine.FindStringSubmatch(text)[1], "port")
	for _, name := range p.edges() {
		if got := *p.Services[name].Environment["MCPEDGE_ADMIN_ADDRESS"]; got != "0.0.0.0:"+port {
			t.Errorf("the proxy asks port %s whether %s is ready, its admin address is %s", port, name, got)
		}
	}
	if !strings.Contains(text, "option httpchk GET /readyz\n") {
		t.Error("the proxy does not ask for /readyz")
	}
}

// What the container publishes and is checked at is bound.
func TestProxyAgreesWithItsContainer(t *testing.T) {
	s := load(t).Services["proxy"]
	var bound []string
	for _, m := range bindLine.FindAllStringSubmatch(read(t, proxyConfig), -1) {
		bound = append(bound, m[1])
	}
	if len(s.Ports) != 1 || s.Ports[0].Target != 8080 || !slices.Contains(bound, "8080") {
		t.Errorf("published %+v, bound %v: want 8080", s.Ports, bound)
	}
	if url := s.Healthcheck.Test[len(s.Healthcheck.Test)-1]; !slices.ContainsFunc(bound, func(port string) bool {
		return url == "http://127.0.0.1:"+port+"/healthz"
	}) {
		t.Errorf("checked at %s, bound %v", url, bound)
	}
	if !slices.ContainsFunc(s.Volumes, func(v struct{ Type, Source, Target string }) bool {
		return strings.HasSuffix(v.Source, proxyConfig) && v.Target == "/usr/local/etc/haproxy/haproxy.cfg"
	}) {
		t.Errorf("the container does not read %s: %+v", proxyConfig, s.Volumes)
	}
}

// No call and no open stream is cut by a timeout, and a draining edge listens until the proxy has noticed.
func TestProxyIsPatient(t *testing.T) {
	p, text := load(t), read(t, proxyConfig)
	timeouts := map[string]time.Duration{}
	for _, m := range timeoutLine.FindAllStringSubmatch(text, -1) {
		timeouts[m[1]] = duration(t, m[2])
	}
	longest := max(setting(t, p, "calls.lifetime"), setting(t, p, "listen.keep-alive"))
	for _, name := range []string{"client", "server", "tunnel"} {
		if timeouts[name] <= longest {
			t.Errorf("timeout %s is %v, silence may last %v", name, timeouts[name], longest)
		}
	}
	servers := defaultLine.FindStringSubmatch(text)[1]
	if after(servers, "fall") != "1" {
		t.Errorf("default-server %s: want fall 1", servers)
	}
	noticed := duration(t, after(servers, "inter")) + timeouts["check"]
	if delay := setting(t, p, "shutdown.delay"); delay < 2*noticed {
		t.Errorf("drain-delay %v: the proxy may take %v to notice, want twice that", delay, noticed)
	}
}

// A request that may have reached an edge is not sent again.
func TestProxyRepeatsNoCall(t *testing.T) {
	text := read(t, proxyConfig)
	if m := regexp.MustCompile(`(?m)^\s*retry-on\s+(.*)$`).FindStringSubmatch(text); m == nil || m[1] != "conn-failure" {
		t.Errorf("retry-on %q: want conn-failure only", m)
	}
	for _, word := range []string{"cookie", "stick-table", "balance source", "http-buffer-request"} {
		if regexp.MustCompile(`(?m)^\s*(option\s+)?` + word).MatchString(text) {
			t.Errorf("%s has %s", proxyConfig, word)
		}
	}
}
