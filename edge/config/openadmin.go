package config

import "fmt"

// OpenAdmin says that the admin address takes no credentials although callers of the endpoint need some. Nil: it takes some, nobody needs any,
// or allow-remote-admin says that it is meant.
func (c *Config) OpenAdmin() (notes []string) {
	if c.Auth == nil || c.AdminAuth != nil || c.AdminTLS.ClientCA != "" || c.AllowRemoteAdmin {
		return nil
	}
	return []string{fmt.Sprintf("admin: %s obeys every process of this machine: there is auth, and no admin-auth that says who may call there, end sessions and stop the edge", c.Admin)}
}
