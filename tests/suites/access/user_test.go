//go:build access

package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// user is somebody with a browser, which keeps its cookies.
type user struct {
	name string
	// redirect is the page of a client on the user's machine, to which the browser is sent in the end; empty: it ends at a page
	// without a form.
	redirect string
	// came has what that page was asked with; nil: the client has the page itself.
	came chan url.Values
	// visit has the browser follow a link of a client and fill in what it is shown, until it is at redirect.
	visit func(ctx context.Context, link string) error
}

// newUser is a user whose name is the password, too, with a browser that has no more than forms: it follows redirects, and
// submits the first form of every page.
func newUser(t *testing.T, name string) *user {
	t.Helper()
	l, err := freeport.Listen()
	if err != nil {
		t.Fatal(err)
	}
	u := &user{name: name, redirect: "http://" + l.Addr().String() + "/callback", came: make(chan url.Values, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<!doctype html><title>Done</title><p id="done">You may close this page.`)
		u.came <- r.URL.Query()
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	u.visit = func(ctx context.Context, link string) error { return u.submit(ctx, browser, link) }
	return u
}

// withChromium gives the user a headless Chromium in the place of the browser.
func (u *user) withChromium(t *testing.T) {
	t.Helper()
	program, err := chromiumLogin()
	if err != nil {
		t.Fatal(err)
	}
	profile := t.TempDir()
	u.visit = func(ctx context.Context, link string) error {
		out, err := exec.CommandContext(ctx, program, "-profile", profile, "-user", u.name, "-password", u.name, link).CombinedOutput()
		if err != nil {
			return fmt.Errorf("in Chromium: %w\n%s", err, out)
		}
		return nil
	}
}

// sentTo has the browser be sent to a page that the client itself has.
func (u *user) sentTo(t *testing.T, path string) {
	t.Helper()
	address, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	u.redirect, u.came = "http://"+address+path, nil
}

// follow has the user log in where a client says, and returns what the client's page was asked with.
func (u *user) follow(ctx context.Context, link string) (url.Values, error) {
	if err := u.visit(ctx, link); err != nil {
		return nil, err
	}
	if u.came == nil {
		return nil, nil
	}
	select {
	case q := <-u.came:
		if q.Get("error") != "" {
			return nil, fmt.Errorf("the authorization server says %s: %s", q.Get("error"), q.Get("error_description"))
		}
		return q, nil
	default:
		return nil, errors.New("the browser was not sent back")
	}
}

// pages bounds how many forms a login may have.
const pages = 6

func (u *user) submit(ctx context.Context, browser *http.Client, link string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return err
	}
	for range pages {
		resp, err := browser.Do(r)
		if err != nil {
			return err
		}
		page, err := html.Parse(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return err
		}
		if u.redirect != "" && strings.HasPrefix(resp.Request.URL.String(), u.redirect+"?") {
			return nil
		}
		form := first(page, "form")
		if form == nil && u.redirect == "" && resp.StatusCode == http.StatusOK {
			return nil // the login was for a device elsewhere
		}
		if form == nil {
			var shown strings.Builder
			_ = html.Render(&shown, page)
			return fmt.Errorf("%s: no form in %s", resp.Status, &shown)
		}
		to, err := resp.Request.URL.Parse(attribute(form, "action"))
		if err != nil {
			return err
		}
		if r, err = http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(u.fill(form).Encode())); err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return fmt.Errorf("the login did not end after %d forms", pages)
}

// fill are the fields of a form as the user sends it, with its first button.
func (u *user) fill(form *html.Node) url.Values {
	values, pressed := url.Values{}, false
	for node := range form.Descendants() {
		name, kind := attribute(node, "name"), attribute(node, "type")
		if node.Data != "input" && node.Data != "button" {
			continue
		}
		switch {
		case kind == "submit" || node.Data == "button":
			if !pressed && name != "" {
				values.Set(name, attribute(node, "value"))
			}
			pressed = true
		case kind == "password" || name == "username" || name == "login":
			values.Set(name, u.name)
		case kind == "hidden" && name != "":
			values.Set(name, attribute(node, "value"))
		}
	}
	return values
}

func first(page *html.Node, tag string) *html.Node {
	for node := range page.Descendants() {
		if node.Type == html.ElementNode && node.Data == tag {
			return node
		}
	}
	return nil
}

func attribute(node *html.Node, key string) string {
	for _, a := range node.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
