package app

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"

	"github.com/mcpedge/mcpedge/edge/transport/accept"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// connections are the bounds that follow from the settings and the process's limit of open files.
type connections struct {
	// files is the limit of open files; 0 means unknown.
	files int
	// all bounds the connections of the MCP listener, perAddress those of one address; 0 means no
	// bound.
	all, perAddress int
	// admin bounds the connections of the admin listener, and as many files are reserved for it; 0
	// means no bound.
	admin int
}

// maxReserve bounds the files that are reserved for the admin listener.
const maxReserve = 256

// connections reserves a tenth of the files, but at least a few, for the admin listener: for
// probes, and for operators who examine why the MCP listener has run out.
func (a *App) connections() connections {
	c := connections{files: fileLimit()}
	c.all = cmp.Or(a.cfg.Listen.Connections, c.files/10*8)
	c.perAddress = cmp.Or(a.cfg.Clients.Connections, (c.all+1)/2)
	if c.files > 0 {
		c.admin = min(max(c.files/10, 4), maxReserve)
	}
	return c
}

// listen opens both listeners.
func (a *App) listen() (mcp, admin *accept.Listener, err error) {
	mcpListener, err := listenAt("listen", a.cfg.Listen.Address)
	if err != nil {
		return nil, nil, err
	}
	adminListener, err := listenAt("admin", a.cfg.Admin.Address)
	if err != nil {
		return nil, nil, errors.Join(err, mcpListener.Close())
	}
	c := a.connections()
	if c.files > 0 && c.all > c.files-c.admin {
		a.log.Warn("there may be more connections than open files: raise the limit of open files, or lower the setting connections",
			"connections", c.all, "limit", c.files, "reserve", c.admin)
	}
	files := accept.FilesOptions{
		Limit: c.files, Reserve: c.admin, Telemetry: a.telemetry, Logger: a.log,
		Refusal: refusedConnection("this server has no file left for a connection: try again later"),
	}
	if a.tls.mcp != nil {
		files.Refusal = nil // the refusal is sent at once, without a handshake
	}
	options := accept.Options{
		Secure: tlsRefusals(a.tls.mcp),
		Max:    c.all, MaxPerAddress: c.perAddress, Trusted: a.proxies.Trusts, WriteTimeout: a.cfg.Listen.WriteTimeout,
		Refusal: refusedConnection, Telemetry: a.telemetry, Logger: a.log,
	}
	mcp = accept.NewListener(accept.NewFiles(mcpListener, files), options)
	files.Reserve = 0
	options.Max, options.MaxPerAddress, options.Secure = c.admin, 0, tlsRefusals(a.tls.admin)
	admin = accept.NewListener(accept.NewFiles(adminListener, files), options)
	return mcp, admin, nil
}

// listenAt listens at the address in a setting.
func listenAt(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s.address: %s is in use by another program or edge: stop it, or choose another address with --%[1]s", flag, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s.address: %w", flag, err)
	}
	return l, nil
}

// refusedConnection returns the response to any request on a refused connection.
func refusedConnection(message string) []byte {
	body := web.Refusal(message)
	return []byte("HTTP/1.1 " + strconv.Itoa(http.StatusServiceUnavailable) + " Service Unavailable\r\n" +
		"Content-Type: " + web.TypeJSON + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n" +
		"Retry-After: 1\r\nConnection: close\r\n\r\n" + string(body))
}
