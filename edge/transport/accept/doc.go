// Package accept bounds what a server accepts: the number of connections, in total and of one
// address, and the time to read from or write to one. It is independent of what is served.
package accept
