// Package certs provides the certificates, keys and CAs of the ends of TLS: of listeners and of
// connections to backends and to a policy server. It reads them from PEM files, rereads the files
// while they are in use, and uses changed material for new handshakes. Open connections are not
// affected.
//
// Files are read every [Interval] and compared by content, instead of by file system notifications.
// These are missing on network file systems and for files that are mounted individually, count
// against a limit of the machine, and do not report a file behind a symbolic link whose directory
// was replaced, which is how Kubernetes updates a mounted secret.
package certs
