package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/transport/streamable"
)

// errorsPage has a row for each kind of error: its name in logs, its code and HTTP status in either era, and what its constant's comment says.
func errorsPage(root string) (string, error) {
	comments, err := kindComments(filepath.Join(root, "edge/mcp/error.go"))
	if err != nil {
		return "", err
	}
	legacy, modern := revision.Negotiate(""), revision.Stateless()
	var b strings.Builder
	fmt.Fprintf(&b, "# Error codes\n\nEvery kind of error that the edge answers with, made from the code: the name of logs and metrics, then the code of JSON-RPC and "+
		"the HTTP status of the response, in the revisions with sessions (%s and before) and in %s. Codes from -31000 to -31999 are the edge's own. "+
		"A status of 200 is an error that is told in the response alone; once a stream has begun it always is.\n\n"+
		"| kind | sessions | stateless | when |\n|---|---|---|---|\n", legacy.Version, modern.Version)
	for k := mcp.KindNone + 1; int(k) <= len(comments); k++ {
		if k != mcp.KindInternal && k.String() == mcp.KindInternal.String() {
			return "", fmt.Errorf("kind %d has no name", k)
		}
		fmt.Fprintf(&b, "| `%s` | `%d`, HTTP %d | `%d`, HTTP %d | %s |\n", k, legacy.Code(k), streamable.Status(false, k), modern.Code(k), streamable.Status(true, k),
			cell(comments[k]))
	}
	return b.String(), nil
}

// kindComments are the comments of the constants of mcp.Kind, without their names. One that has none shares that of the one before.
func kindComments(file string) (map[mcp.Kind]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	out := map[mcp.Kind]string{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST || !strings.HasPrefix(g.Specs[0].(*ast.ValueSpec).Names[0].Name, "Kind") {
			continue
		}
		what := ""
		for n, s := range g.Specs[1:] { // The first is KindNone.
			if text := s.(*ast.ValueSpec).Doc.Text(); text != "" {
				_, what, _ = strings.Cut(text, ": ")
			}
			out[mcp.Kind(n+1)] = strings.TrimSpace(what) // #nosec G115 -- there are few
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s declares no kinds", file)
}
