// Package compose holds docker-compose.yml, the images and the proxy's configuration against the code.
//
// Without Docker: Compose's own loader reads the file, the Dockerfile's build runs in a copy of its
// context, and every container's command line and health check runs on this machine, with its addresses
// on loopback. The build tag haproxy adds tests with the real proxy in front, those of TestHAProxy….
//
// The build tag composedocker adds TestDocker, with docker-compose.yml as it is, with Compose, on a real
// engine, the images built from deploy/Dockerfile. A client calls through the proxy while an edge is killed, one is stopped, and a new
// version is rolled out as docs/scaling.md says. The images of Redis and HAProxy are stand-ins with this machine's programs, and those
// of the profiles are left out: see package engine.
package compose
