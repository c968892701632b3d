package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resourceNotFound is the code of the revisions with sessions (specification: Resources, Error
// Handling).
const resourceNotFound = -32002

// file is a file among the resources, and its URI.
func (v *visit) file(name string) (path, uri string) {
	path = filepath.Join(v.options.dir, name)
	return path, (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

func (v *visit) contents(ctx context.Context, uri string) (string, error) {
	res, err := v.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", uri, err)
	}
	if len(res.Contents) != 1 {
		return "", fmt.Errorf("%s has %d contents, want 1", uri, len(res.Contents))
	}
	return res.Contents[0].Text, nil
}

func (v *visit) read(ctx context.Context) error {
	_, uri := v.file("note.txt")
	got, err := v.contents(ctx, uri)
	if err != nil {
		return err
	}
	_, missing := v.contents(ctx, "test://no-such-resource")
	want := int64(resourceNotFound)
	if v.modern() {
		want = jsonrpc.CodeInvalidParams
	}
	return errors.Join(equal("text", got, "first\n"), code("unknown resource", missing, want))
}

func (v *visit) template(ctx context.Context) error {
	res, err := v.session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "weather://forecast/{city}/{date}"},
		Argument: mcp.CompleteParamsArgument{Name: "city", Value: "Lis"},
	})
	if err != nil {
		return err
	}
	if err := equal("completion", res.Completion.Values, []string{"Lisbon"}); err != nil {
		return err
	}
	got, err := v.contents(ctx, "weather://forecast/Lisbon/2026-08-01")
	return errors.Join(err, contains("forecast", got, "Lisbon"))
}

// subscribe is told of a change: by a subscription, or in the revision without sessions by a stream.
func (v *visit) subscribe(ctx context.Context) error {
	path, uri := v.file(fmt.Sprintf("go-sdk-%s-%d.txt", v.version, os.Getpid()))
	if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
		return err
	}
	if err := v.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		return err
	}
	const want = "two\n"
	if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		return err
	}
	for got := ""; got != want; {
		u, err := next(ctx, "update", v.updated)
		if err != nil {
			return err
		}
		if err := equal("updated", u, uri); err != nil {
			return err
		}
		if got, err = v.contents(ctx, uri); err != nil {
			return err
		}
	}
	return errors.Join(v.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}), os.Remove(path))
}
