package config

import "fmt"

// OpenAdmin returns a note if callers of the endpoint need credentials and callers of the admin
// address do not. It returns nil if admin.allow-remote permits that.
func (c *Config) OpenAdmin() (notes []string) {
	if c.Auth == nil || c.Admin.Auth != nil || c.Admin.TLS.ClientCA != "" || c.Admin.AllowRemote {
		return nil
	}
	return []string{fmt.Sprintf("admin.address: %s obeys every process of this machine: there is auth, and no admin.auth that says who may call there, end sessions and stop the edge", c.Admin.Address)}
}
