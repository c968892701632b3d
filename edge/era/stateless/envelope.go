package stateless

import (
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
)

// methods maps all requests of the era to whether Mcp-Name mirrors their target.
var methods = map[mcp.Method]bool{
	mcp.MethodDiscover:      false,
	mcp.MethodListen:        false,
	mcp.MethodToolsList:     false,
	mcp.MethodToolsCall:     true,
	mcp.MethodResourcesList: false,
	mcp.MethodTemplatesList: false,
	mcp.MethodResourcesRead: true,
	mcp.MethodPromptsList:   false,
	mcp.MethodPromptsGet:    true,
	mcp.MethodComplete:      false,
	// Of the extension io.modelcontextprotocol/skills, which does not mention Mcp-Name.
	mcp.MethodSkillsList:    false,
	mcp.MethodSkillsGet:     false,
	mcp.MethodDirectoryRead: false,
	// Of the extension io.modelcontextprotocol/tasks.
	mcp.MethodTasksGet:    true,
	mcp.MethodTasksUpdate: true,
	mcp.MethodTasksCancel: true,
}

// envelope checks the required parts of every request. The order of the checks determines which
// error is returned: the version header, `_meta`, their agreement, the version, Mcp-Method, the
// method, Mcp-Name. The rules are never nil. Without headers (stdio) only the body is checked.
// envelope sets params to the readable part of the message's params.
func envelope(in *mcp.Incoming, msg jsonrpc.Message, params *mcp.Params) (*revision.Rules, error) {
	rules := revision.Stateless()
	version, err := metadata(in, msg, params)
	if err != nil {
		return rules, err
	}
	served, ok := revision.ByVersion(version)
	if !ok || !served.Stateless {
		return rules, unsupported(version)
	}
	rules = served
	if in.Header != nil {
		if err := checkSingle(in.Header, headerMethod); err != nil {
			return rules, err
		}
		if got := in.Header.Get(headerMethod); got != msg.Method {
			return rules, mismatch(headerMethod, got, "method", msg.Method)
		}
	}
	named, ok := methods[mcp.Method(msg.Method)]
	if !ok {
		return rules, mcp.Errorf(mcp.KindMethodNotFound, "method %.100q does not exist in revision %s", msg.Method, version)
	}
	if named {
		err = name(in, params)
	}
	return rules, err
}

// metadata reads the required members of `_meta` and compares the version header with them.
func metadata(in *mcp.Incoming, msg jsonrpc.Message, params *mcp.Params) (string, error) {
	header := ""
	if in.Header != nil {
		if err := checkSingle(in.Header, era.HeaderVersion); err != nil {
			return "", err
		}
		if header = in.Header.Get(era.HeaderVersion); header == "" {
			return "", mcp.Errorf(mcp.KindHeaderMismatch, "header MCP-Protocol-Version is missing: send the version that _meta names")
		}
	}
	if err := params.Parse(mcp.Method(msg.Method), msg.Params, msg.Outline); err != nil {
		return "", err
	}
	if params.Meta.Raw == nil {
		if _, ok := revision.ByVersion(header); header != "" && !ok {
			return "", unsupported(header)
		}
		return "", missing("")
	}
	version, ok := jsonrpc.Unquote(params.Meta.Version)
	if !ok {
		return "", missing(mcp.MetaVersion)
	}
	if in.Header != nil && header != version {
		return "", mismatch("MCP-Protocol-Version", header, mcp.MetaVersion, version)
	}
	if jsonrpc.TypeOf(params.Meta.Capabilities) != jsonrpc.Object {
		return "", missing(mcp.MetaCapabilities)
	}
	return version, nil
}

// checkSingle refuses a repeated header: an intermediary that routes by it may have read the other value.
func checkSingle(h mcp.Header, name string) error {
	if n := len(h.Values(name)); n > 1 {
		return mcp.Errorf(mcp.KindHeaderMismatch, "header %s was sent %d times: send it once", name, n)
	}
	return nil
}

// name compares Mcp-Name with the request's target.
func name(in *mcp.Incoming, params *mcp.Params) error {
	if !params.HasTarget {
		return mcp.Errorf(mcp.KindInvalidParams, "params lacks the name, uri or taskId of the requested object, as a string")
	}
	if in.Header == nil {
		return nil
	}
	values := in.Header.Values(headerName)
	if len(values) != 1 {
		return mcp.Errorf(mcp.KindHeaderMismatch, "header Mcp-Name must be sent once, with the value %.100q of the body", params.Target)
	}
	got, ok := mcp.DecodeHeader(values[0])
	if !ok {
		return mcp.Errorf(mcp.KindHeaderMismatch, "header %s is %.100q, which is neither visible ASCII nor base64 of UTF-8: send %.200q", headerName, values[0], mcp.EncodeHeader(params.Target))
	}
	if got != params.Target {
		return mismatch(headerName, values[0], "the name, uri or taskId of params", params.Target)
	}
	return nil
}

// missing returns the error that names the missing member of _meta, or _meta itself, and what to
// send.
func missing(key string) error {
	what := "params._meta is missing"
	if key != "" {
		what = fmt.Sprintf("params._meta lacks %q, or it has the wrong type", key)
	}
	return mcp.Errorf(mcp.KindInvalidParams, `%s: with every request send "_meta":{%q:%q,%q:{}}, with the client's capabilities in the last object`,
		what, mcp.MetaVersion, revision.Stateless().Version, mcp.MetaCapabilities)
}

func mismatch(header, got, member, want string) error {
	if got == "" {
		return mcp.Errorf(mcp.KindHeaderMismatch, "header %s is missing: send %.100q", header, want)
	}
	return mcp.Errorf(mcp.KindHeaderMismatch, "header %s is %.100q, but %s is %.100q: send the same value", header, got, member, want)
}

// unsupported returns the error for a version that `_meta` cannot select. For a version that only
// sessions support, the error lists the versions without sessions.
func unsupported(version string) error {
	message := "protocol version " + version + " is not served: use one of data.supported"
	_, sessions := revision.ByVersion(version)
	if sessions {
		message = "protocol version " + version + " has sessions, which begin with initialize: begin one, or use one of data.supported in _meta"
	}
	served := slices.DeleteFunc(slices.Clone(revision.Supported()), func(v string) bool {
		r, _ := revision.ByVersion(v)
		return sessions && !r.Stateless
	})
	data := append([]byte(`{"supported":`), arrayOf(served)...)
	data = append(jsonrpc.AppendString(append(data, `,"requested":`...), version), '}')
	return &mcp.Error{Kind: mcp.KindUnsupportedVersion, Data: data, Message: message}
}
