package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// MetadataPath is the path of the protected-resource metadata (RFC 9728, section 3), followed by
// the path of the resource.
const MetadataPath = "/.well-known/oauth-protected-resource"

// documents are the metadata of the edge and of each of its endpoints. They never change.
type documents struct {
	// resource is Options.Resource, and root its parsed form. common has the members of all
	// documents.
	resource string
	root     *url.URL
	common   resourceMetadata
	// byPath has the documents by request path.
	byPath map[string][]byte
	// urls has the documents' URLs by endpoint.
	urls map[string]string
}

// resourceMetadata is a metadata document (RFC 9728, section 2).
type resourceMetadata struct {
	Resource      string   `json:"resource"`
	Servers       []string `json:"authorization_servers"`
	Scopes        []string `json:"scopes_supported,omitempty"`
	Methods       []string `json:"bearer_methods_supported"`
	Proofs        []string `json:"dpop_signing_alg_values_supported,omitempty"`
	Bound         bool     `json:"dpop_bound_access_tokens_required,omitempty"`
	Name          string   `json:"resource_name,omitempty"`
	Documentation string   `json:"resource_documentation,omitempty"`
}

// newDocuments makes the documents; nil without an issuer, since they would name none. If the
// resource has a path, they are at the path with it, which clients request, and without it, for
// proxies that cut it off.
func newDocuments(o Options) (*documents, error) {
	if len(o.Issuers) == 0 {
		return nil, nil
	}
	root, err := url.Parse(o.Resource)
	if err != nil {
		return nil, err
	}
	m := resourceMetadata{
		Scopes: o.Metadata.Scopes, Methods: []string{"header"}, Name: o.Metadata.Name, Documentation: o.Metadata.Documentation,
	}
	if o.DPoP != DPoPOff {
		m.Proofs, m.Bound = ProofAlgorithms, o.DPoP == DPoPRequire
	}
	for _, i := range o.Issuers {
		m.Servers = append(m.Servers, i.URL)
	}
	d := &documents{resource: o.Resource, root: root, common: m, byPath: map[string][]byte{}, urls: map[string]string{}}
	for _, endpoint := range append([]string{""}, o.Endpoints...) {
		if err := d.add(endpoint, m); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// add adds the document of an endpoint.
func (d *documents) add(endpoint string, m resourceMetadata) error {
	m.Resource = d.resource + endpoint
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	at := *d.root
	at.Path = MetadataPath + strings.TrimRight(d.root.Path, "/") + endpoint
	d.urls[endpoint] = at.String()
	d.byPath[at.Path] = body
	d.byPath[MetadataPath+endpoint] = body
	return nil
}

// metadataOf returns the URL of the document of an endpoint, or of the whole edge. It is empty if
// there are no documents.
func (a *Authenticator) metadataOf(endpoint string) string {
	if a.documents == nil {
		return ""
	}
	if u, ok := a.documents.urls[endpoint]; ok {
		return u
	}
	if d := a.sets.Load().documents; d != nil && d.urls[endpoint] != "" {
		return d.urls[endpoint]
	}
	return a.documents.urls[""]
}

// document returns the document at a path, or nil.
func (a *Authenticator) document(path string) []byte {
	if a.documents == nil {
		return nil
	}
	if body := a.documents.byPath[path]; body != nil {
		return body
	}
	if d := a.sets.Load().documents; d != nil {
		return d.byPath[path]
	}
	return nil
}

// ServeHTTP serves the metadata. Mount it at MetadataPath and below it, and at ServerMetadataPath.
// The metadata is public, including for pages of every origin: it has no secrets, and a client
// needs it before it has credentials.
func (a *Authenticator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var read func(context.Context) ([]byte, time.Duration, error)
	if path := strings.TrimRight(r.URL.Path, "/"); path == ServerMetadataPath && a.passed != nil {
		read = a.passed.get
	} else if body := a.document(path); body != nil {
		read = func(context.Context) ([]byte, time.Duration, error) { return body, 0, nil }
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	switch {
	case read == nil:
		http.NotFound(w, r)
	case r.Method == http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "*")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "use GET for the metadata", http.StatusMethodNotAllowed)
	default:
		body, again, err := read(r.Context())
		switch {
		case errors.Is(err, errNoMetadata):
			http.Error(w, "the authorization server of this server has no metadata", http.StatusNotFound)
		case body == nil:
			web.RetryAfter(w, http.StatusServiceUnavailable, again)
			http.Error(w, "the metadata of the authorization server cannot be read now", http.StatusServiceUnavailable)
		default:
			h.Set("Content-Type", "application/json")
			h.Set("Cache-Control", "public, max-age=300")
			_, _ = w.Write(body)
		}
	}
}
