package mcp

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// What a client may name, in bytes of the decoded string. They hold for every method of every revision, and
// are constants since nothing that backends serve comes near them. Beyond one the message is answered with
// KindInvalidParams.
const (
	// MaxURI bounds a resource's URI or URI template: of a read, a subscription, an entry of
	// subscriptions/listen, and of what a completion is for.
	MaxURI = 8 << 10
	// MaxName bounds a name: of a tool, a prompt, an argument of a prompt or of a completion; and a protocol
	// version.
	MaxName = 1 << 10
	// MaxClientInfo bounds what a client says of itself, clientInfo and capabilities together, as JSON text:
	// in initialize, which a session keeps, and in `_meta` of a request.
	MaxClientInfo = 16 << 10
)

// CheckURI says what is wrong with the length of a URI; where names the member that has it.
func CheckURI(where, uri string) error { return checkLength(where, len(uri), MaxURI) }

// CheckName says what is wrong with the length of a name.
func CheckName(where, name string) error { return checkLength(where, len(name), MaxName) }

func checkLength(where string, n, max int) error {
	if n <= max {
		return nil
	}
	return Errorf(KindInvalidParams, "%s has %d bytes, at most %d are taken: send a shorter one", where, n, max)
}

// checkClient says what is wrong with the length of what a client says of itself.
func checkClient(where string, info, capabilities json.RawMessage) error {
	n := len(info) + len(capabilities)
	if n <= MaxClientInfo {
		return nil
	}
	return Errorf(KindInvalidParams,
		"client info and capabilities in %s have %d bytes, at most %d are taken: leave out what is large, such as icons", where, n, MaxClientInfo)
}

// checkString is checkLength of a JSON string; another value is left to whoever reads it.
func checkString(where string, value json.RawMessage, max int) error {
	if len(value) <= max+2 {
		return nil // The text of a string is at least as long as what it says, and two quotes.
	}
	s, _ := jsonrpc.Unquote(value)
	return checkLength(where, len(s), max)
}

// checkKeys holds the keys of an object against MaxName; what is no object is left to whoever reads it.
func checkKeys(where string, object json.RawMessage) error {
	return membersOf(object, func(key []byte, _ json.RawMessage) error {
		return checkLength("a name in "+where, len(key), MaxName)
	})
}

// checkTarget holds what the request is about against its bound.
func (p *Params) checkTarget(member string) error {
	if member == "uri" {
		return CheckURI(member, p.Target)
	}
	return CheckName(member, p.Target)
}

// checkNames holds the names that are not the request's target against their bounds.
func (p *Params) checkNames(method Method) error {
	switch method {
	case MethodInitialize:
		if err := checkString("protocolVersion", p.Version, MaxName); err != nil {
			return err
		}
		return checkClient("initialize", p.ClientInfo, p.Capabilities)
	case MethodPromptsGet:
		return checkKeys("arguments", p.Arguments)
	case MethodComplete:
		return p.checkCompletion()
	}
	return nil
}

func (p *Params) checkCompletion() error {
	err := membersOf(p.Ref, func(key []byte, value json.RawMessage) error {
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
	err = membersOf(p.Argument, func(key []byte, value json.RawMessage) error {
		if string(key) == "name" {
			return checkString("argument.name", value, MaxName)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return membersOf(p.Context, func(key []byte, value json.RawMessage) error {
		if string(key) == "arguments" {
			return checkKeys("context.arguments", value)
		}
		return nil
	})
}

// membersOf is jsonrpc.Members of an object that is part of a message which was accepted; what is no object
// has none.
func membersOf(object json.RawMessage, fn func(key []byte, value json.RawMessage) error) error {
	if jsonrpc.TypeOf(object) != jsonrpc.Object {
		return nil
	}
	return jsonrpc.Members(object, fn)
}
