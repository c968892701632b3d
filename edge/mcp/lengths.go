package mcp

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Bounds on names from clients, in bytes of the decoded string. They hold for every method of every
// revision, and are constants because they are far above what backends serve. A longer one is
// refused with KindInvalidParams.
const (
	// MaxURI bounds a resource's URI or URI template: in a read, a subscription, an entry of
	// subscriptions/listen, and the reference of a completion.
	MaxURI = 8 << 10
	// MaxName bounds a name: of a tool, a prompt, an argument of a prompt or of a completion, and a
	// protocol version.
	MaxName = 1 << 10
	// MaxClientInfo bounds clientInfo and capabilities together, as JSON text: in initialize, which
	// a session keeps, and in `_meta` of a request.
	MaxClientInfo = 16 << 10
)

// CheckURI returns an error if a URI is too long. where names its member.
func CheckURI(where, uri string) error { return checkLength(where, len(uri), MaxURI) }

// CheckName returns an error if a name is too long.
func CheckName(where, name string) error { return checkLength(where, len(name), MaxName) }

func checkLength(where string, n, max int) error {
	if n <= max {
		return nil
	}
	return Errorf(KindInvalidParams, "%s has %d bytes, at most %d are taken: send a shorter one", where, n, max)
}

// checkClient returns an error if the client's description of itself is too long.
func checkClient(where string, info, capabilities json.RawMessage) error {
	n := len(info) + len(capabilities)
	if n <= MaxClientInfo {
		return nil
	}
	return Errorf(KindInvalidParams,
		"client info and capabilities in %s have %d bytes, at most %d are taken: leave out what is large, such as icons", where, n, MaxClientInfo)
}

// checkString is checkLength of a JSON string. It ignores other values.
func checkString(where string, value json.RawMessage, max int) error {
	if len(value) <= max+2 {
		return nil // The text of a string is at least as long as its value and two quotes.
	}
	s, _ := jsonrpc.Unquote(value)
	return checkLength(where, len(s), max)
}

// checkKeys checks the keys of an object against MaxName. It ignores other values.
func checkKeys(where string, object json.RawMessage) error {
	return membersOf(object, func(key []byte, _ json.RawMessage) error {
		return checkLength("a name in "+where, len(key), MaxName)
	})
}

// checkTarget checks the length of the request's target.
func (p *Sent) checkTarget(member string) error {
	if member == "uri" {
		return CheckURI(member, p.Target)
	}
	return CheckName(member, p.Target)
}

// checkNames checks the length of names other than the request's target.
func (p *Sent) checkNames(method Method) error {
	switch method {
	case MethodInitialize:
		if err := checkString("protocolVersion", p.More().Version, MaxName); err != nil {
			return err
		}
		return checkClient("initialize", p.More().ClientInfo, p.More().Capabilities)
	case MethodPromptsGet:
		return checkKeys("arguments", p.Arguments)
	case MethodComplete:
		return p.checkCompletion()
	}
	return nil
}

func (p *Sent) checkCompletion() error {
	err := membersOf(p.More().Ref, func(key []byte, value json.RawMessage) error {
		switch string(key) {
		case "uri":
			return checkString("ref.uri", value, MaxURI)
		case "name":
			return checkString("ref.name", value, MaxName)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = membersOf(p.More().Argument, func(key []byte, value json.RawMessage) error {
		if string(key) == "name" {
			return checkString("argument.name", value, MaxName)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return membersOf(p.More().Context, func(key []byte, value json.RawMessage) error {
		if string(key) == "arguments" {
			return checkKeys("context.arguments", value)
		}
		return nil
	})
}

// membersOf is jsonrpc.Members for a value in a message that was accepted. A non-object has no
// members.
func membersOf(object json.RawMessage, fn func(key []byte, value json.RawMessage) error) error {
	if jsonrpc.TypeOf(object) != jsonrpc.Object {
		return nil
	}
	return jsonrpc.Members(object, fn)
}
