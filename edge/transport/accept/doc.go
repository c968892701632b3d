// Package accept bounds what a server accepts: how many connections, how many of one address, and how long one may be
// read from or written to. It knows nothing of what is served.
package accept
