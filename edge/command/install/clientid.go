package install

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// clientForm is how an entry in a host's file names the OAuth client that an issuer has for the host.
type clientForm struct {
	// members returns what an entry has in addition. port is that of the client's redirect, 0 if the user gave none.
	members func(id string, port int) values
	// redirect is the redirect that the client has at the issuer, with PORT for the port.
	redirect string
	// port is what the host uses for PORT if the user gives none. 0 means that it chooses one at each login.
	port int
	// login is how a user logs in with the client, if other than without. It has NAME for the name of the server.
	login string
	// fixed says, if not empty, why the entry takes no port.
	fixed string
}

// withClient returns v, to which it adds the client of the entry.
func (r *request) withClient(v values) (values, error) {
	h, e := r.host, r.entry
	if h.client == nil {
		return nil, errorf("the file of %s takes no client id: %s", h.title, h.clientHelp)
	}
	if e.callbackPort != 0 && h.client.fixed != "" {
		return nil, errorf("the entry of %s takes no port: leave --callback-port out; %s", h.title, h.client.fixed)
	}
	maps.Copy(v, h.client.members(e.clientID, e.callbackPort))
	return v, nil
}

// clientAdvice returns a line that says which redirect the client needs at the issuer.
func (r *request) clientAdvice() string {
	c := r.host.client
	port := cmp.Or(r.entry.callbackPort, c.port)
	redirect := strings.ReplaceAll(c.redirect, "PORT", strconv.Itoa(port))
	if port == 0 && redirect != c.redirect {
		redirect = c.redirect + ", on any port"
	}
	return fmt.Sprintf("At the issuer, the client %s needs the redirect %s\nTo log in: %s\n", r.entry.clientID, redirect, r.named(cmp.Or(c.login, r.host.login)))
}

// named returns a text with the name of the server.
func (r *request) named(text string) string { return strings.ReplaceAll(text, "NAME", r.entry.name) }

// oauthObject returns members that put a client into an object oauth. portMember is the name of the port there, empty if it takes none.
func oauthObject(idMember, portMember string) func(string, int) values {
	return func(id string, port int) values {
		o := values{idMember: id}
		if port != 0 {
			o[portMember] = port
		}
		return values{"oauth": o}
	}
}

// geminiClient returns members for Gemini CLI, which takes the redirect instead of its port.
func geminiClient(id string, port int) values {
	o := values{"enabled": true, "clientId": id}
	if port != 0 {
		o["redirectUri"] = "http://localhost:" + strconv.Itoa(port) + "/oauth/callback"
	}
	return values{"oauth": o}
}

// vibeClient returns members for Mistral Vibe.
func vibeClient(id string, port int) values {
	auth := values{"type": "oauth", "scopes": []string{}, "client_id": id}
	if port != 0 {
		auth["redirect_port"] = port
	}
	return values{"auth": auth}
}

// copilotClient returns members for Copilot CLI.
func copilotClient(id string, port int) values {
	v := values{"oauthClientId": id, "oauthPublicClient": true}
	if port != 0 {
		v["auth"] = values{"redirectPort": port}
	}
	return v
}
