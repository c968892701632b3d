package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

var headerAttacks = []attack{
	{name: "header-names", what: "Mcp-Name and Mcp-Method in other spellings than the body's names: case, spaces, percent- and base64-coding, twice, raw UTF-8, in trailers", run: spellHeaders},
}

// named is a backend with two tools, two prompts and two resources, one of each hidden by headerRules.
type named struct {
	pb.UnimplementedToolServiceServer
	pb.UnimplementedPromptServiceServer
	pb.UnimplementedResourceServiceServer

	mu    sync.Mutex
	calls []namedCall
}

// namedCall is the name of a request that reached the backend, and its metadata mcp-name, decoded.
type namedCall struct{ name, header string }

const headerRules = `policy: {default: allow, rules: [
  {name: shut, when: 'tool.name == "shut" || prompt.name == "shut" || resource.uri == "named://shut"', then: hide}]}`

// accented is a URI outside ASCII in normal form C, and inDForm the same in D, which is another one.
const accented, inDForm = "named://caf\u00e9", "named://cafe\u0301"

func (b *named) register(s *grpc.Server) {
	pb.RegisterToolServiceServer(s, b)
	pb.RegisterPromptServiceServer(s, b)
	pb.RegisterResourceServiceServer(s, b)
}

func (b *named) called(ctx context.Context, name string) {
	md, _ := metadata.FromIncomingContext(ctx)
	header := strings.Join(md.Get("mcp-name"), ", ")
	if inner, ok := strings.CutPrefix(header, "=?base64?"); ok {
		raw, _ := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?=")) // What is not decoded is not the name.
		header = string(raw)
	}
	b.mu.Lock()
	b.calls = append(b.calls, namedCall{name, header})
	b.mu.Unlock()
}

// taken returns the requests since the last time.
func (b *named) taken() []namedCall {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.calls = nil }()
	return b.calls
}

// ListTools implements the contract.
func (b *named) ListTools(context.Context, *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	return &pb.ListToolsResponse{Tools: []*pb.Tool{{Name: "open"}, {Name: "shut"}}}, nil
}

// CallTool implements the contract.
func (b *named) CallTool(in *pb.CallToolRequest, s stream) error {
	b.called(s.Context(), in.GetName())
	return say(s, "served")
}

// ListPrompts implements the contract.
func (b *named) ListPrompts(context.Context, *pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
	return &pb.ListPromptsResponse{Prompts: []*pb.Prompt{{Name: "open"}, {Name: "shut"}}}, nil
}

// GetPrompt implements the contract.
func (b *named) GetPrompt(in *pb.GetPromptRequest, s grpc.ServerStreamingServer[pb.GetPromptResponse]) error {
	b.called(s.Context(), in.GetName())
	return s.Send(&pb.GetPromptResponse{Message: &pb.GetPromptResponse_Result{Result: &pb.GetPromptResult{Description: "served"}}})
}

// ListResources implements the contract.
func (b *named) ListResources(context.Context, *pb.ListResourcesRequest) (*pb.ListResourcesResponse, error) {
	out := &pb.ListResourcesResponse{}
	for _, uri := range []string{"named://open", "named://shut", accented} {
		out.Resources = append(out.Resources, &pb.Resource{Uri: uri, Name: "n"})
	}
	return out, nil
}

// ListResourceTemplates implements the contract.
func (b *named) ListResourceTemplates(context.Context, *pb.ListResourceTemplatesRequest) (*pb.ListResourceTemplatesResponse, error) {
	return &pb.ListResourceTemplatesResponse{}, nil
}

// ReadResource implements the contract.
func (b *named) ReadResource(in *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
	b.called(s.Context(), in.GetUri())
	return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{
		Contents: []*pb.ResourceContents{{Uri: in.GetUri(), Body: &pb.ResourceContents_Text{Text: "served"}}},
	}}})
}

// verdict is how a request is to be answered.
type verdict int

const (
	isServed   verdict = iota
	isMismatch         // -32020
	isHidden           // as what does not exist
	isRefused          // by any error: the request is malformed
)

func (v verdict) String() string {
	return [...]string{"served", "refused as a mismatch", "hidden", "refused"}[v]
}

// of returns the verdict of an answer.
func (v verdict) of(a *answer) bool {
	body := string(a.body)
	is := strings.Contains(body, "served")
	switch v {
	case isServed:
		return is && a.status == http.StatusOK
	case isMismatch:
		return !is && a.status == http.StatusBadRequest && strings.Contains(body, `"code":-32020`)
	case isHidden:
		return !is && strings.Contains(body, `"code":-32602`) && (strings.Contains(body, "unknown ") || strings.Contains(body, "not found"))
	}
	return !is && a.status >= 400 && a.status < 500
}

// method and target are the header lines of a request as honest clients send them.
const (
	callLine   = "Mcp-Method: tools/call\r\n"
	nameLine   = "Mcp-Name: open\r\n"
	promptLine = "Mcp-Method: prompts/get\r\n"
	readLine   = "Mcp-Method: resources/read\r\n"
)

func sentinel(text string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// spelledHeaders are header lines, what the body names, and how that is to be answered.
var spelledHeaders = []struct {
	what, lines, method, name string
	want                      verdict
}{
	{"as it is", callLine + nameLine, "tools/call", "open", isServed},
	{"of the hidden tool", callLine + "Mcp-Name: shut\r\n", "tools/call", "shut", isHidden},
	{"another header name's case", "MCP-METHOD: tools/call\r\nmcp-name: open\r\n", "tools/call", "open", isServed},
	{"space around", "Mcp-Method: \t tools/call \t\r\nMcp-Name:\t open \r\n", "tools/call", "open", isServed},
	{"in base64", callLine + "Mcp-Name: " + sentinel("open") + "\r\n", "tools/call", "open", isServed},
	{"the hidden one in base64", callLine + "Mcp-Name: " + sentinel("shut") + "\r\n", "tools/call", "shut", isHidden},

	{"open, and the body shut", callLine + nameLine, "tools/call", "shut", isMismatch},
	{"shut, and the body open", callLine + "Mcp-Name: shut\r\n", "tools/call", "open", isMismatch},
	{"open in base64, and the body shut", callLine + "Mcp-Name: " + sentinel("open") + "\r\n", "tools/call", "shut", isMismatch},
	{"shut in base64, and the body open", callLine + "Mcp-Name: " + sentinel("shut") + "\r\n", "tools/call", "open", isMismatch},
	{"in capitals", callLine + "Mcp-Name: OPEN\r\n", "tools/call", "open", isMismatch},
	{"with a capital", callLine + "Mcp-Name: Open\r\n", "tools/call", "open", isMismatch},
	{"percent-coded", callLine + "Mcp-Name: op%65n\r\n", "tools/call", "open", isMismatch},
	{"in quotes", callLine + "Mcp-Name: \"open\"\r\n", "tools/call", "open", isMismatch},
	{"the sentinel in capitals", callLine + "Mcp-Name: =?BASE64?b3Blbg==?=\r\n", "tools/call", "open", isMismatch},
	{"base64 without padding", callLine + "Mcp-Name: =?base64?b3Blbg?=\r\n", "tools/call", "open", isMismatch},
	{"base64 with loose bits", callLine + "Mcp-Name: =?base64?b3Blbh==?=\r\n", "tools/call", "open", isMismatch},
	{"base64 with a space", callLine + "Mcp-Name: =?base64?b3Bl bg==?=\r\n", "tools/call", "open", isMismatch},
	{"base64 without its end", callLine + "Mcp-Name: =?base64?b3Blbg==\r\n", "tools/call", "open", isMismatch},
	{"base64 without a sentinel", callLine + "Mcp-Name: b3Blbg==\r\n", "tools/call", "open", isMismatch},
	{"base64 of base64", callLine + "Mcp-Name: " + sentinel(sentinel("open")) + "\r\n", "tools/call", "open", isMismatch},
	{"base64 of spaces around", callLine + "Mcp-Name: " + sentinel(" open ") + "\r\n", "tools/call", "open", isMismatch},
	{"base64 with a NUL", callLine + "Mcp-Name: " + sentinel("open\x00") + "\r\n", "tools/call", "open", isMismatch},
	{"another character set", callLine + "Mcp-Name: =?utf-8?B?b3Blbg==?=\r\n", "tools/call", "open", isMismatch},
	{"no name", callLine, "tools/call", "open", isMismatch},
	{"an empty name", callLine + "Mcp-Name:\r\n", "tools/call", "open", isMismatch},
	{"an empty one in base64", callLine + "Mcp-Name: =?base64??=\r\n", "tools/call", "open", isMismatch},
	{"an underscore", callLine + "Mcp_Name: open\r\n", "tools/call", "open", isMismatch},
	{"twice the same", callLine + nameLine + nameLine, "tools/call", "open", isMismatch},
	{"open, then shut; the body open", callLine + nameLine + "Mcp-Name: shut\r\n", "tools/call", "open", isMismatch},
	{"shut, then open; the body open", callLine + "MCP-Name: shut\r\n" + nameLine, "tools/call", "open", isMismatch},
	{"open, then shut; the body shut", callLine + nameLine + "mcp-name: shut\r\n", "tools/call", "shut", isMismatch},
	{"open, then nothing", callLine + nameLine + "Mcp-Name:\r\n", "tools/call", "open", isMismatch},
	{"both in one line", callLine + "Mcp-Name: open, shut\r\n", "tools/call", "open", isMismatch},
	{"a line that goes on", callLine + "Mcp-Name: op\r\n en\r\n", "tools/call", "open", isRefused},
	{"a space before the colon", callLine + "Mcp-Name : open\r\n", "tools/call", "open", isRefused},
	{"a NUL at its end", callLine + "Mcp-Name: open\x00\r\n", "tools/call", "open", isRefused},
	{"a carriage return within", callLine + "Mcp-Name: open\rMcp-Name: shut\r\n", "tools/call", "open", isRefused},
	{"raw UTF-8 behind it", callLine + "Mcp-Name: open\u200b\r\n", "tools/call", "open", isMismatch},
	{"a space that is none", callLine + "Mcp-Name: open\u00a0\r\n", "tools/call", "open", isMismatch},
	{"wide letters", callLine + "Mcp-Name: \uff4f\uff50\uff45\uff4e\r\n", "tools/call", "open", isMismatch},

	{"no method", nameLine, "tools/call", "open", isMismatch},
	{"an empty method", "Mcp-Method:\r\n" + nameLine, "tools/call", "open", isMismatch},
	{"a list's method", "Mcp-Method: tools/list\r\n" + nameLine, "tools/call", "open", isMismatch},
	{"a list's method, and the body shut", "Mcp-Method: tools/list\r\n", "tools/call", "shut", isMismatch},
	{"a prompt's method", promptLine + nameLine, "tools/call", "open", isMismatch},
	{"the method in capitals", "Mcp-Method: Tools/Call\r\n" + nameLine, "tools/call", "open", isMismatch},
	{"the method percent-coded", "Mcp-Method: tools%2Fcall\r\n" + nameLine, "tools/call", "open", isMismatch},
	{"the method in base64", "Mcp-Method: " + sentinel("tools/call") + "\r\n" + nameLine, "tools/call", "open", isMismatch},
	{"the method twice", callLine + callLine + nameLine, "tools/call", "open", isMismatch},
	{"two methods", callLine + "mcp-method: tools/list\r\n" + nameLine, "tools/call", "open", isMismatch},
	{"two methods in one line", "Mcp-Method: tools/call, tools/list\r\n" + nameLine, "tools/call", "open", isMismatch},

	{"a prompt", promptLine + nameLine, "prompts/get", "open", isServed},
	{"a hidden prompt", promptLine + "Mcp-Name: " + sentinel("shut") + "\r\n", "prompts/get", "shut", isHidden},
	{"a hidden prompt as an open one", promptLine + nameLine, "prompts/get", "shut", isMismatch},
	{"a URI", readLine + "Mcp-Name: named://open\r\n", "resources/read", "named://open", isServed},
	{"a hidden URI in another spelling", readLine + "Mcp-Name: NAMED://%73hut\r\n", "resources/read", "NAMED://%73hut", isHidden},
	{"a hidden URI, and its other spelling in the body", readLine + "Mcp-Name: named://shut\r\n", "resources/read", "named://%73hut", isMismatch},
	{"a URI, and its other spelling in the body", readLine + "Mcp-Name: named://open\r\n", "resources/read", "named://%6fpen", isMismatch},
	{"another spelling, and the URI in the body", readLine + "Mcp-Name: NAMED://open\r\n", "resources/read", "named://open", isMismatch},
	{"an open URI, and the body shut", readLine + "Mcp-Name: named://open\r\n", "resources/read", "named://shut", isMismatch},
	{"accents in base64", readLine + "Mcp-Name: " + sentinel(accented) + "\r\n", "resources/read", accented, isServed},
	{"accents in raw UTF-8", readLine + "Mcp-Name: " + accented + "\r\n", "resources/read", accented, isMismatch},
	{"accents in Latin-1", readLine + "Mcp-Name: named://caf\xe9\r\n", "resources/read", accented, isMismatch},
	{"accents in base64 of Latin-1", readLine + "Mcp-Name: " + sentinel("named://caf\xe9") + "\r\n", "resources/read", accented, isMismatch},
	{"accents in form D", readLine + "Mcp-Name: " + sentinel(inDForm) + "\r\n", "resources/read", accented, isMismatch},
	{"accents percent-coded", readLine + "Mcp-Name: named://caf%C3%A9\r\n", "resources/read", accented, isMismatch},
}

// spelledBodies are bodies that two readers may take for another name, each with a header that says open: none reaches what is shut.
var spelledBodies = []string{
	`"name":"open","name":"shut","arguments":{}`, `"name":"shut","name":"open","arguments":{}`, `"name":"open","Name":"shut","arguments":{}`,
	`"Name":"open","name":"shut","arguments":{}`, `"name":"open","n\u0061me":"shut","arguments":{}`, `"n\u0061me":"shut","arguments":{}`,
	`"name":"\u0073hut","arguments":{}`, `"name":["open","shut"],"arguments":{}`, `"name":"shut\u0000","arguments":{}`, `"uri":"open","name":"shut","arguments":{}`,
}

func spellHeaders(ctx context.Context, s *site) error {
	b := &named{}
	return withServer("named", headerRules, b.register, func(ctx context.Context, s *site, r *ruled) error {
		c := r.as(s, nil)
		defer c.close()
		return errors.Join(c.spellsHeaders(ctx, b), c.spellsBodies(ctx, b), c.spellsTrailers(ctx, b), c.spellsInSession(ctx, b))
	})(ctx, s)
}

// only returns why the requests that reached the backend are not those of one name; want is empty if none may have.
func (b *named) only(want string) error {
	got := b.taken()
	switch {
	case want == "" && len(got) > 0:
		return fmt.Errorf("the backend was asked for %q", got)
	case want != "" && (len(got) != 1 || got[0] != namedCall{want, want}):
		return fmt.Errorf("the backend was asked for %q, want %q alone, in its metadata too", got, want)
	}
	return nil
}

// spellsHeaders sends each of spelledHeaders.
func (r *rogue) spellsHeaders(ctx context.Context, b *named) (err error) {
	b.taken()
	for _, c := range spelledHeaders {
		member := "name"
		if c.method == "resources/read" {
			member = "uri"
		}
		quoted, e := json.Marshal(c.name)
		if e != nil {
			return e
		}
		a, e := r.rawModern(ctx, c.lines, r.modernBody(c.method, `,"`+member+`":`+string(quoted)))
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", c.what, e))
			continue
		}
		want := ""
		if c.want == isServed {
			want = c.name
		}
		if e := b.only(want); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", c.what, e))
		}
		if !c.want.of(a) {
			err = errors.Join(err, fmt.Errorf("%s: want it %v: %d %.300s", c.what, c.want, a.status, a.body))
		}
	}
	return err
}

// spellsBodies sends each of spelledBodies.
func (r *rogue) spellsBodies(ctx context.Context, b *named) (err error) {
	b.taken()
	for _, members := range spelledBodies {
		a, e := r.rawModern(ctx, callLine+nameLine, r.modernBody("tools/call", ","+members))
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", members, e))
			continue
		}
		for _, got := range b.taken() {
			if got != (namedCall{"open", "open"}) {
				err = errors.Join(err, fmt.Errorf("%s, with a header that says open: the backend was asked for %q: %.300s", members, got, a.body))
			}
		}
		if a.status >= 500 {
			err = errors.Join(err, fmt.Errorf("%s: %d %.300s", members, a.status, a.body))
		}
	}
	return err
}

// spellsTrailers sends the name behind the body, where whoever routes by it does not see it.
func (r *rogue) spellsTrailers(ctx context.Context, b *named) error {
	b.taken()
	body := r.modernBody("tools/call", `,"name":"open"`)
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\nMcp-Name: open\r\n\r\n", len(body), body)
	a, err := r.rawRequest(ctx, callLine+"Trailer: Mcp-Name\r\nTransfer-Encoding: chunked\r\n", chunked)
	if err != nil {
		return err
	}
	if !isMismatch.of(a) {
		err = fmt.Errorf("a name in the trailers: %d %.300s", a.status, a.body)
	}
	return errors.Join(err, b.only(""))
}

// spellsInSession shows that the headers decide nothing in a session, whose revisions do not have them.
func (r *rogue) spellsInSession(ctx context.Context, b *named) error {
	session, err := r.hello(ctx, `{"name":"spelling","version":"1"}`)
	if err != nil {
		return err
	}
	b.taken()
	a, err := r.send(ctx, http.MethodPost, r.legacyBody("tools/call", `{"name":"shut","arguments":{}}`),
		append(sessionHeader(session), "Mcp-Name", "open", "Mcp-Method", "tools/call")...)
	if err != nil {
		return err
	}
	if !isHidden.of(a) {
		err = fmt.Errorf("the hidden tool, in a session with a header that says open: %d %.300s", a.status, a.body)
	}
	return errors.Join(err, b.only(""))
}

// rawModern sends a request without a session, with header lines as they are.
func (r *rogue) rawModern(ctx context.Context, lines, body string) (*answer, error) {
	return r.rawRequest(ctx, lines+fmt.Sprintf("Content-Length: %d\r\n", len(body)), body)
}

// rawRequest sends header lines and a body as they are, behind those that each request has.
func (r *rogue) rawRequest(ctx context.Context, lines, body string) (*answer, error) {
	conn, err := r.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(answersWithin))
	if _, err := io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: "+r.host+"\r\nAuthorization: "+r.authorization()+
		"\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: "+modernVersion+
		"\r\nConnection: close\r\n"+lines+"\r\n"+body); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(io.LimitReader(resp.Body, bodyMost))
	return &answer{resp.StatusCode, resp.Header, b.Bytes()}, err
}
