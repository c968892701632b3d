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

// notAddress returns why an address cannot be listened on, or an empty string if it can.
func notAddress(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		if strings.Count(addr, ":") > 1 && !strings.Contains(addr, "[") {
			return "is not an address: give an IPv6 address in brackets, such as [::1]:8080"
		}
		return "is not an address: give host:port"
	}
	if why := largePort(port); why != "" {
		return why
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Sprintf("has the port %q, which is not known: give a number from 0 to %d", port, maxPort)
	}
	return ""
}

// largePort returns an error text if a port is a number above maxPort, else an empty string.
func largePort(port string) string {
	if n, err := strconv.ParseUint(port, 10, 64); err == nil && n > maxPort {
		return fmt.Sprintf("has the port %d: ports are at most %d", n, maxPort)
	}
	return ""
}

// hasLargePort reports whether the port of a URL's host is too large, or that of a host in its
// query under a key.
func hasLargePort(u *url.URL, key string) bool {
	return slices.ContainsFunc(append([]string{u.Host}, u.Query()[key]...), func(host string) bool {
		_, port, err := net.SplitHostPort(host)
		return err == nil && largePort(port) != ""
	})
}

// portOf matches the port at the end of an address. No group of an IPv6 address has so many digits.
var portOf = regexp.MustCompile(`:(\d{5,19})$`)

// largePortIn is largePort for each address of a gRPC target.
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

// isLoopback reports whether a listen address can be reached from this machine alone.
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

// AllowedHosts are the Host names to accept: the configured ones, else, on loopback, the names of
// loopback; and, beside either, the host of PublicURL. nil means any.
func (c *Config) AllowedHosts() []string {
	hosts := allowedHosts(c.Listen.Hosts, c.Listen.Address)
	if u, err := url.Parse(c.Listen.PublicURL); err == nil && u.Hostname() != "" && hosts != nil {
		hosts = append(slices.Clone(hosts), u.Hostname())
	}
	return hosts
}

// AllowedAdminHosts are the Host names to accept on the admin address: the configured ones, else, on
// loopback, the names of loopback. nil means any.
func (c *Config) AllowedAdminHosts() []string { return allowedHosts(c.Admin.Hosts, c.Admin.Address) }

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
	loopback, err := isLoopback(c.Admin.Address)
	return err == nil && loopback
}
