package config

import "fmt"

// ListenerTLS is TLS of a listener. All paths are PEM files, which are read again when they change.
// The zero value disables TLS.
type ListenerTLS struct {
	// Cert is the certificate, followed by its intermediates, and Key its private key; both or
	// none.
	Cert string `yaml:"cert" names:"file" usage:"PEM file of the certificate; the address then has TLS only; reread when it changes"`
	Key  string `yaml:"key" names:"file" usage:"PEM file of its private key"`
	// ClientCA verifies clients' certificates, which are required unless Admin.Auth.ClientCert makes
	// them optional. Empty requests none.
	ClientCA string `yaml:"client-ca" names:"file" usage:"PEM file of the CAs of clients' certificates, which are then required"`

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
