// Package accept is what stands between a listener and a server: how many connections there may be, of whom, and how
// long one may keep the process waiting. It knows nothing of what is served.
package accept
