package config

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxPort is the largest port of TCP.
const maxPort = 1<<16 - 1

// notAddress says why something is no address to listen at; empty: it is one.
func notAddress(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		if strings.Count(addr, ":") > 1 && !strings.Contains(addr, "[") {
			return "is no address: give an IPv6 address in brackets, such as [::1]:8080"
		}
		return "is no address: give host:port"
	}
	if why := largePort(port); why != "" {
		return why
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Sprintf("has the port %q, which is not known: give a number from 0 to %d", port, maxPort)
	}
	return ""
}

// largePort says that a port is too large; empty: it is not, or no number.
func largePort(port string) string {
	if n, err := strconv.ParseUint(port, 10, 64); err == nil && n > maxPort {
		return fmt.Sprintf("has the port %d: ports are at most %d", n, maxPort)
	}
	return ""
}

// hasLargePort reports whether the host of a URL, or one that its query has under a key, has a port that is too large.
func hasLargePort(u *url.URL, key string) bool {
	return slices.ContainsFunc(append([]string{u.Host}, u.Query()[key]...), func(host string) bool {
		_, port, err := net.SplitHostPort(host)
		return err == nil && largePort(port) != ""
	})
}

// portOf is the port at the end of an address. No group of an IPv6 address has so many digits.
var portOf = regexp.MustCompile(`:(\d{5,19})$`)

// largePortIn is largePort for the addresses of a gRPC target.
func largePortIn(target string) string {
	if strings.HasPrefix(target, "unix") {
		return ""
	}
	for address := range strings.SplitSeq(target, ",") {
		if m := portOf.FindStringSubmatch(address); m != nil {
			if why := largePort(m[1]); why != "" {
				return why
			}
		}
	}
	return ""
}

// isLoopback reports whether only this machine reaches an address to listen at.
func isLoopback(addr string) (bool, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false, err
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return false, err
	}
	if host == "localhost" {
		return true, nil
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback(), nil
}

// AllowedHosts are the Host names to accept: the configured ones, else, on loopback, the names of loopback.
func (c *Config) AllowedHosts() []string { return allowedHosts(c.Hosts, c.Listen) }

// AllowedAdminHosts is AllowedHosts of the admin address.
func (c *Config) AllowedAdminHosts() []string { return allowedHosts(c.AdminHosts, c.Admin) }

func allowedHosts(configured []string, addr string) []string {
	if len(configured) > 0 {
		return configured
	}
	if loopback, err := isLoopback(addr); err == nil && loopback {
		return LoopbackHosts()
	}
	return nil
}

// LoopbackHosts are the names of loopback in a Host header.
func LoopbackHosts() []string { return []string{"localhost", "127.0.0.1", "::1"} }

// AdminOnLoopback says whether only this machine reaches Admin.
func (c *Config) AdminOnLoopback() bool {
	loopback, err := isLoopback(c.Admin)
	return err == nil && loopback
}
