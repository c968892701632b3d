package api

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// The files of a pod's service account.
const (
	tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" // #nosec G101 -- a path
	caFile    = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
)

// Config configures the connection to the API server.
type Config struct {
	// URL of the API server: "https://host:port".
	URL string
	// TokenFile has the bearer token. It is read again for each request. Empty sends no token.
	TokenFile string
	// CAFile has the certificates that verify the API server, in PEM. It is read again for each
	// request. Empty uses the system's roots.
	CAFile string
}

// InCluster returns the Config of a pod with a service account. It fails outside of a pod, and in a
// pod without a token.
func InCluster() (*Config, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: run the edge in a pod")
	}
	for _, file := range []string{tokenFile, caFile} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("%w: set automountServiceAccountToken for the pod", err)
		}
	}
	return &Config{URL: "https://" + net.JoinHostPort(host, port), TokenFile: tokenFile, CAFile: caFile}, nil
}
