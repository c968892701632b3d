// Package version builds the edge in the ways that people do and asks each program for `mcpedge version`. The images are asked by
// `make images`.
package version
