package config

import (
	"errors"
	"fmt"
	"slices"
)

// ListenerTLS is TLS of a listener. All paths are PEM files, which are read again when they change.
// The zero value disables TLS.
type ListenerTLS struct {
	// Cert is the certificate, followed by its intermediates, and Key its private key; both or
	// none.
	Cert string `yaml:"cert" names:"file"`
	Key  string `yaml:"key" names:"file"`
	// ClientCA verifies clients' certificates, which are required unless AdminAuth.ClientCert makes
	// them optional. Empty requests none.
	ClientCA string `yaml:"client-ca" names:"file"`

	// given reports that the file has the section.
	given bool
}

// Enabled reports whether the listener uses TLS.
func (t ListenerTLS) Enabled() bool { return t.Cert != "" }

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (t *ListenerTLS) UnmarshalYAML(unmarshal func(any) error) error {
	type plain ListenerTLS
	t.given = true
	return unmarshal((*plain)(t))
}

// validate returns an error if the section is incomplete: the listener would otherwise use plain
// HTTP.
func (t ListenerTLS) validate(setting string) (errs []error) {
	if (t.Cert == "") != (t.Key == "") {
		errs = append(errs, fmt.Errorf("%[1]s: %[1]s.cert and %[1]s.key go together: give both or none", setting))
	} else if t.Cert == "" && (t.given || t.ClientCA != "") {
		errs = append(errs, fmt.Errorf("%[1]s: %[1]s.cert and %[1]s.key are missing: give the PEM files of the listener's certificate and its key, or take %[1]s out", setting))
	}
	return errs
}

// validateTLS checks the TLS of both listeners, and that AdminAuth.ClientCert has a ClientCA.
func (c *Config) validateTLS() []error {
	errs := slices.Concat(c.TLS.validate("tls"), c.AdminTLS.validate("admin-tls"))
	if c.AdminAuth != nil && c.AdminAuth.ClientCert && c.AdminTLS.ClientCA == "" {
		errs = append(errs, errors.New("admin-auth.client-cert: there is no admin-tls.client-ca, so no certificate of a client can be verified: name the file of its CAs there, or take client-cert out"))
	}
	return errs
}

// settings returns the flags of a listener's TLS. where is the path of the section.
func (t *ListenerTLS) settings(where, listener string) []setting {
	return []setting{
		{where + "-cert", &t.Cert, "PEM file of the certificate of the " + listener + " address, which then speaks TLS alone; read again while in use"},
		{where + "-key", &t.Key, "PEM file of its private key"},
		{where + "-client-ca", &t.ClientCA, "PEM file of the CAs of clients' certificates, which are then demanded at the " + listener + " address"},
	}
}

// AdminScheme returns the scheme of Admin's URL: http or https.
func (c *Config) AdminScheme() string {
	if c.AdminTLS.Enabled() {
		return "https"
	}
	return "http"
}
