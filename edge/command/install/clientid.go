package install

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// clientForm says how an entry in a host's file names the OAuth client that an issuer has
// registered for the host.
type clientForm struct {
	// members returns the additional members of the entry. port is the port of the client's redirect
	// URI. 0 means that the user gave none.
	members func(id string, port int) values
	// redirect is the redirect URI that the client must have at the issuer, with PORT for the port.
	redirect string
	// port is the default port. 0 means that the host chooses a port at each login.
	port int
	// login says how a user logs in with the client, with NAME for the name of the server. Empty
	// means as without a client.
	login string
	// noPortReason is the reason for which the entry has no port. Empty means that it can have one.
	noPortReason string
}

// withClient adds the OAuth client of the entry to v, and returns v.
func (r *request) withClient(v values) (values, error) {
	h, e := r.host, r.entry
	if h.client == nil {
		return nil, errorf("the file of %s takes no client id: %s", h.title, h.clientHelp)
	}
	if e.callbackPort != 0 && h.client.noPortReason != "" {
		return nil, errorf("the entry of %s takes no port: leave --callback-port out; %s", h.title, h.client.noPortReason)
	}
	maps.Copy(v, h.client.members(e.clientID, e.callbackPort))
	return v, nil
}

// clientAdvice returns a line with the redirect URI that the client must have at the issuer.
func (r *request) clientAdvice() string {
	c := r.host.client
	port := cmp.Or(r.entry.callbackPort, c.port)
	redirect := strings.ReplaceAll(c.redirect, "PORT", strconv.Itoa(port))
	if port == 0 && redirect != c.redirect {
		redirect = c.redirect + ", on any port"
	}
	return fmt.Sprintf("At the issuer, the client %s needs the redirect %s\nTo log in: %s\n", r.entry.clientID, redirect, r.named(cmp.Or(c.login, r.host.login)))
}

// named replaces NAME in a text by the name of the server.
func (r *request) named(text string) string { return strings.ReplaceAll(text, "NAME", r.entry.name) }

// oauthObject returns a function for the members of hosts that describe the client in an object
// oauth. portMember is the name of its port. Empty means that it has none.
func oauthObject(idMember, portMember string) func(string, int) values {
	return func(id string, port int) values {
		o := values{idMember: id}
		if port != 0 {
			o[portMember] = port
		}
		return values{"oauth": o}
	}
}

// geminiClient returns the members for Gemini CLI, which has the redirect URI instead of the port.
func geminiClient(id string, port int) values {
	o := values{"enabled": true, "clientId": id}
	if port != 0 {
		o["redirectUri"] = "http://localhost:" + strconv.Itoa(port) + "/oauth/callback"
	}
	return values{"oauth": o}
}

// vibeClient returns the members for Mistral Vibe.
func vibeClient(id string, port int) values {
	auth := values{"type": "oauth", "scopes": []string{}, "client_id": id}
	if port != 0 {
		auth["redirect_port"] = port
	}
	return values{"auth": auth}
}

// copilotClient returns the members for Copilot CLI.
func copilotClient(id string, port int) values {
	v := values{"oauthClientId": id, "oauthPublicClient": true}
	if port != 0 {
		v["auth"] = values{"redirectPort": port}
	}
	return v
}
