package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// cacheTTL is how long clients may cache static contents.
const cacheTTL = 5 * time.Minute

func addResources(s *capability.Server, interval time.Duration) {
	capability.AddResource(s, &capability.Resource{Uri: "test://static-text", Name: "static-text", Title: "Static text",
		Description: "A text that never changes", MimeType: "text/plain"},
		func(_ context.Context, c *capability.Call, _ string) (string, error) {
			c.SetCache(cacheTTL, true)
			return "This is the content of the static text resource.", nil
		})
	capability.AddResource(s, &capability.Resource{Uri: "test://static-binary", Name: "static-binary", Title: "Static binary",
		Description: "A picture that never changes", MimeType: "image/png"},
		func(_ context.Context, c *capability.Call, _ string) ([]byte, error) {
			c.SetCache(cacheTTL, true)
			return redPixel, nil
		})
	s.Provide(watchedURI, &watched{began: time.Now(), interval: interval})
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "test://template/{id}/data", Name: "template", Title: "Template",
		Description: "Data about an id", MimeType: "application/json"},
		func(_ context.Context, c *capability.Call, _ string, vars map[string]string) (string, error) {
			c.SetCache(cacheTTL, true)
			data, err := json.Marshal(struct {
				ID   string `json:"id"`
				Test bool   `json:"templateTest"`
				Data string `json:"data"`
			}{vars["id"], true, "Data for ID: " + vars["id"]})
			return string(data), err
		}, capability.Suggest("id", "1", "12", "123"))
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "test://ask/{topic}", Name: "ask", Title: "Asking read",
		Description: "A text that the user is asked for when it is read", MimeType: "text/plain"},
		func(_ context.Context, c *capability.Call, _ string, vars map[string]string) (string, error) {
			r := c.AskForm("user_context", fmt.Sprintf("What should %q say?", vars["topic"]), contextForm)
			if r.Action != capability.Accept {
				return "", capability.Errorf(capability.FailedPrecondition, "the user gave no text (%s)", r.Action)
			}
			return member(r, "context"), nil
		})
}

const watchedURI = "test://watched-resource"

// watched is a resource that changes periodically while it is watched.
type watched struct {
	began    time.Time
	interval time.Duration
}

var _ capability.ResourceWatcher = (*watched)(nil)

func (w *watched) List(context.Context) ([]*capability.Resource, error) {
	return []*capability.Resource{{Uri: watchedURI, Name: "watched-resource", Title: "Watched resource",
		Description: fmt.Sprintf("A text that changes every %v", w.interval), MimeType: "text/plain"}}, nil
}

func (w *watched) Read(_ context.Context, _ *capability.Call, uri string) ([]*capability.ResourceContents, error) {
	if uri != watchedURI {
		return nil, nil
	}
	version := time.Since(w.began) / w.interval
	return []*capability.ResourceContents{capability.TextContents(uri, "text/plain", fmt.Sprintf("Watched resource content, version %d", version+1))}, nil
}

func (w *watched) Watch(updated func(uri string), _ func()) (stop func(), err error) {
	ticker := time.NewTicker(w.interval)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				updated(watchedURI)
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(ended)
		<-done
	}, nil
}
