// Package accept bounds the number of connections, in total and for one address, and the times to
// read from and write to one. It does not depend on the protocol.
package accept
