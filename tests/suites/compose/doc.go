// Package compose holds docker-compose.yml, the images and the proxy's configuration against the code,
// without Docker: Compose's own loader reads the file, the Dockerfile's build runs in a copy of its
// context, and every container's command line and health check runs on this machine, with its addresses
// on loopback. `make compose` puts the real proxy in front (build tag haproxy).
package compose
