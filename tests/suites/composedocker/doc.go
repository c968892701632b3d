// Package composedocker runs docker-compose.yml as it is: with Compose, on a real Docker engine, the images built from
// deploy/Dockerfile. A client calls through the proxy while an edge is killed, one is stopped, and a new version is rolled out as
// docs/scaling.md says. `make compose-docker` runs it (build tag composedocker); `make compose` is the same without Docker.
//
// The images of Redis and HAProxy are stand-ins with this machine's programs, and those of the profiles are left out: see package
// engine.
package composedocker
