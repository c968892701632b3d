// Package certs has the certificates, keys and CAs of the ends of TLS, of listeners and of connections to backends and to
// a policy server: it reads them from PEM files, reads the files again while they are in use, and exchanges what has
// changed for new handshakes. Connections that are open go on with what they began with.
//
// Files are read again every [Interval] and compared by what they hold, rather than watched by notifications of the
// file system: those are missing on network file systems and for files that are mounted one by one, take a share of a
// limit of the machine, and say nothing of a file behind a symbolic link whose folder was exchanged, which is how
// Kubernetes updates a mounted secret.
package certs
