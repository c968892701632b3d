// Package conn makes the connections of an HTTP server cheap to serve: net/http sets about six deadlines for a
// request over HTTP/1.1, hardly one of which ever passes, and reads while the handler runs, to learn that the client
// has left. Here deadlines reach the connection only when it would otherwise keep an operation too long, and that read
// reaches the kernel only when the handler is slow. It knows neither HTTP nor what is served.
package conn
