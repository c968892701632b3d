// Package images builds the images of deploy/Dockerfile on a real Docker engine and holds them against what the documentation says
// of them: how they are locked down, what they answer, which version they name, both platforms, and the way over a registry.
// `make stages ONLY=images` runs it (build tag images).
package images
