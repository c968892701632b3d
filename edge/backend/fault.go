package backend

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// fault is the reason why a target cannot be reached, for operators.
type fault struct {
	text string
	err  error
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.err }

// noPreface is gRPC's error for a server that accepts a connection and does not begin HTTP/2.
const noPreface = "error reading server preface"

// explain explains an error of connecting to a target, if the dialer failed, the server did not
// answer, or it speaks no gRPC without TLS. secure means that the edge speaks TLS. It returns TLS
// errors and others unchanged.
func explain(err error, target string, secure bool) error {
	if isSilent(err.Error()) {
		return &fault{target + " takes connections and does not answer: it may hang, or wait for another protocol than gRPC", err}
	}
	what, dialed := dialFault(err.Error())
	if !dialed && !secure && strings.Contains(err.Error(), noPreface) {
		return &fault{err.Error() + ": the server does not speak gRPC without TLS: if the backend speaks TLS, give it tls: {} in the configuration file", err}
	}
	if !dialed {
		return err
	}
	network, address, cause := partsOf(what)
	text := what
	switch {
	case network == "unix" && strings.HasSuffix(cause, "no such file or directory"):
		text = fmt.Sprintf("there is no Unix socket %s: check the path in the target, and that the backend has started", address)
	case network == "unix" && strings.HasSuffix(cause, "permission denied"):
		text = fmt.Sprintf("the edge may not open the Unix socket %s: permission denied", address)
	case network != "" && strings.HasSuffix(cause, "connection refused"):
		text = fmt.Sprintf("nothing listens at %s (connection refused): check the port, and that the backend has started", address)
	}
	if proxy := proxyOf(target); proxy != "" && network != "unix" {
		text = fmt.Sprintf("the way to %s leads through the proxy %s, by HTTPS_PROXY in the edge's environment, and fails: %s; name the host in NO_PROXY if it is to be reached directly",
			target, proxy, what)
	}
	return &fault{text, err}
}

// isSilent reports whether an error of a gRPC channel means that a server sent nothing, at the start
// of HTTP/2 or TLS, until the attempt to connect ended.
func isSilent(text string) bool {
	return strings.Contains(text, "error reading server preface: ") &&
		(strings.Contains(text, "use of closed network connection") || strings.Contains(text, "i/o timeout")) ||
		strings.Contains(text, "authentication handshake failed: context deadline exceeded")
}

// dialFault returns the text of a dialer in an error of a gRPC channel, or in a nested one; false
// if the error is not a dialer's.
func dialFault(text string) (what string, dialed bool) {
	const before, dialing = "connection error: desc = ", "transport: Error while dialing: "
	for what = text; ; dialed = true {
		_, rest, found := strings.Cut(what, before+`"`+dialing)
		if !found {
			return what, dialed
		}
		quoted, err := strconv.QuotedPrefix(`"` + dialing + rest)
		if err != nil {
			return what, dialed
		}
		inner, _ := strconv.Unquote(quoted)
		what = strings.TrimPrefix(inner, dialing)
	}
}

// partsOf splits "dial tcp 127.0.0.1:1: connect: connection refused"; all are empty if the text has
// another form.
func partsOf(what string) (network, address, cause string) {
	rest, found := strings.CutPrefix(what, "dial ")
	if !found {
		return "", "", ""
	}
	network, rest, _ = strings.Cut(rest, " ")
	address, cause, _ = strings.Cut(rest, ": ")
	return network, address, cause
}

// proxyOf returns the proxy through which gRPC connects to a target, without its password. It is
// empty if there is none.
func proxyOf(target string) string {
	if scheme, rest, found := strings.Cut(target, ":///"); found {
		if scheme != "dns" {
			return ""
		}
		target = rest
	}
	if _, _, err := net.SplitHostPort(target); err != nil {
		return ""
	}
	proxy, err := httpproxy.FromEnvironment().ProxyFunc()(&url.URL{Scheme: "https", Host: target})
	if err != nil || proxy == nil {
		return ""
	}
	return proxy.Redacted()
}
