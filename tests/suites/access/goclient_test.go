//go:build access

package access

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// codeFlow is how the official Go SDK has a user log in: by the authorization code flow with PKCE, as a client that registers
// itself, or as the one with an id.
func codeFlow(redirect, id string, login login) *auth.AuthorizationCodeHandlerConfig {
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			q, err := login(ctx, args.URL)
			if err != nil {
				return nil, err
			}
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	}
	if id != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: id}
	} else {
		c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "a test", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"},
		}}
	}
	return c
}

// goClient is the official Go SDK.
type goClient struct {
	transport *mcp.StreamableClientTransport
	session   *mcp.ClientSession
}

func newGoClient(t *testing.T, edge, redirect, id string, login login) client {
	t.Helper()
	h, err := auth.NewAuthorizationCodeHandler(codeFlow(redirect, id, login))
	if err != nil {
		t.Fatal(err)
	}
	return &goClient{transport: &mcp.StreamableClientTransport{Endpoint: edge, OAuthHandler: h, MaxRetries: -1}}
}

func (c *goClient) connect(ctx context.Context) (err error) {
	c.session, err = mcp.NewClient(&mcp.Implementation{Name: "access", Version: "1"}, nil).Connect(ctx, c.transport, nil)
	return err
}

func (c *goClient) list(ctx context.Context) (names []string, err error) {
	for tool, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c *goClient) call(ctx context.Context, tool string) (string, error) {
	r, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	if err != nil {
		return "", err
	}
	if len(r.Content) != 1 {
		return "", fmt.Errorf("%s: %d contents", tool, len(r.Content))
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return "", fmt.Errorf("%s: a %T", tool, r.Content[0])
	}
	return text.Text, nil
}

func (c *goClient) close() error {
	if c.session == nil {
		return nil
	}
	return c.session.Close()
}
