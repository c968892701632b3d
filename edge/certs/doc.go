// Package certs provides the certificates, keys and CAs of TLS endpoints: listeners, and the
// clients of backends and policy servers. It reads them from PEM files, rereads the files while
// they are in use, and uses changed material for new handshakes. Open connections are not affected.
//
// Files are read every [Interval] and compared by content. File system notifications are not used:
// network file systems and individually mounted files do not send them, the machine limits their
// number, and they do not report a file behind a symbolic link whose directory was replaced.
// Kubernetes updates a mounted secret in that way.
package certs
