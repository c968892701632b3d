package redis

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Records are sequences of fields, each with its length, after a byte for the format. Other formats
// are not read.
const format = 2

type packer []byte

func (p *packer) text(s string) {
	*p = binary.AppendUvarint(*p, uint64(len(s)))
	*p = append(*p, s...)
}

func (p *packer) bytes(b []byte) {
	*p = binary.AppendUvarint(*p, uint64(len(b)))
	*p = append(*p, b...)
}

func (p *packer) number(n uint64) { p.bytes(binary.AppendUvarint(nil, n)) }

func (p *packer) flag(b bool) {
	if b {
		p.number(1)
	} else {
		p.number(0)
	}
}

// lastTime is the latest time in nanoseconds since 1970, in the year 2262.
var lastTime = time.Unix(0, math.MaxInt64)

// time packs nanoseconds. The zero time stays zero; a time after lastTime becomes lastTime.
func (p *packer) time(t time.Time) {
	switch {
	case t.IsZero():
		p.number(0)
		return
	case t.After(lastTime):
		t = lastTime
	}
	p.number(uint64(t.UnixNano()))
}

func (p *packer) texts(list []string) {
	p.number(uint64(len(list)))
	for _, s := range list {
		p.text(s)
	}
}

var errRecord = errors.New("a record in Redis cannot be read: it was written by another program or a newer release")

type unpacker struct {
	rest []byte
	bad  bool
}

// open reads a record. The results of the unpacker alias the record.
func open(record []byte) *unpacker {
	if len(record) == 0 || record[0] != format {
		return &unpacker{bad: true}
	}
	return &unpacker{rest: record[1:]}
}

// bytes returns nil for an empty field.
func (u *unpacker) bytes() []byte {
	n, size := binary.Uvarint(u.rest)
	if size <= 0 || n > uint64(len(u.rest)-size) { // #nosec G115 -- size is at most the length
		u.bad, u.rest = true, nil
		return nil
	}
	field := u.rest[size : size+int(n) : size+int(n)] // #nosec G115 -- compared with the length above
	u.rest = u.rest[size+int(n):]                     // #nosec G115 -- compared with the length above
	if n == 0 {
		return nil
	}
	return field
}

func (u *unpacker) text() string { return string(u.bytes()) }

func (u *unpacker) number() uint64 {
	n, size := binary.Uvarint(u.bytes())
	u.bad = u.bad || size <= 0
	return n
}

func (u *unpacker) flag() bool { return u.number() == 1 }

func (u *unpacker) time() time.Time {
	if ns := u.number(); ns > 0 {
		return time.Unix(0, int64(ns)) // #nosec G115 -- packed from an int64
	}
	return time.Time{}
}

func (u *unpacker) texts() []string {
	var list []string
	for n := u.number(); n > 0 && !u.bad; n-- {
		list = append(list, u.text())
	}
	return list
}

func (u *unpacker) err() error {
	if u.bad {
		return errRecord
	}
	return nil
}

// packSession packs a session without its subscriptions, which are stored separately.
func packSession(s *state.Session) []byte {
	p := packer{format}
	p.text(s.ID)
	p.text(s.Version)
	p.principal(&s.Principal)
	p.bytes(s.ClientInfo)
	p.bytes(s.Capabilities)
	p.number(uint64(s.LogLevel))
	p.flag(s.Initialized)
	for _, n := range []uint64{s.Digest.Tools, s.Digest.Resources, s.Digest.Prompts, s.Attachment, s.Serial} {
		p.number(n)
	}
	p.text(s.AttachedBy)
	p.time(s.Created)
	p.texts(s.Tasks)
	p.time(s.Keep)
	if s.Set != "" { // Records of the root are those of earlier releases.
		p.text(s.Set)
	}
	return p
}

// unpackSession unpacks what packSession packed.
func unpackSession(record []byte) (*state.Session, error) {
	u := open(record)
	s := &state.Session{ID: u.text(), Version: u.text(), Principal: u.principal(), ClientInfo: u.bytes(), Capabilities: u.bytes()}
	s.LogLevel, s.Initialized = mcp.LogLevel(u.number()), u.flag() // #nosec G115 -- packed from a LogLevel
	s.Digest = mcp.Digest{Tools: u.number(), Resources: u.number(), Prompts: u.number()}
	s.Attachment, s.Serial, s.AttachedBy, s.Created = u.number(), u.number(), u.text(), u.time()
	s.Tasks, s.Keep = u.texts(), u.time()
	if len(u.rest) > 0 {
		s.Set = u.text()
	}
	return s, u.err()
}

// principal packs a principal.
func (p *packer) principal(who *mcp.Principal) {
	p.text(who.Subject)
	p.text(who.Issuer)
	p.texts(who.Scopes)
	p.texts(who.Roles)
	p.text(who.Client)
	p.text(who.Actor)
	p.text(who.TokenID)
	p.time(who.Until)
	p.forwarded(who.Forwarded)
	p.claims(who.Claims)
	p.flag(who.SubjectIsClient)
}

func (u *unpacker) principal() mcp.Principal {
	return mcp.Principal{
		Subject: u.text(), Issuer: u.text(), Scopes: u.texts(), Roles: u.texts(), Client: u.text(), Actor: u.text(), TokenID: u.text(),
		Until: u.time(), Forwarded: u.forwarded(), Claims: u.claims(), SubjectIsClient: u.flag(),
	}
}

// claims packs claims as one JSON object, which preserves the digits of numbers.
func (p *packer) claims(claims map[string]json.RawMessage) {
	var raw []byte
	if len(claims) > 0 {
		raw, _ = json.Marshal(claims)
	}
	p.bytes(raw)
}

func (u *unpacker) claims() (claims map[string]json.RawMessage) {
	if raw := u.bytes(); raw != nil && json.Unmarshal(raw, &claims) != nil {
		u.bad = true
	}
	return claims
}

func (p *packer) forwarded(claims map[string]json.RawMessage) {
	p.number(uint64(len(claims)))
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		p.text(name)
		p.bytes(claims[name])
	}
}

func (u *unpacker) forwarded() (claims map[string]json.RawMessage) {
	for n := u.number(); n > 0 && !u.bad; n-- {
		if claims == nil {
			claims = map[string]json.RawMessage{}
		}
		name := u.text()
		claims[name] = u.bytes()
	}
	return claims
}

// packCall packs the fields of a call that never change.
func packCall(c *state.Request) []byte {
	p := packer{format}
	p.text(c.RequestID)
	p.text(string(c.Method))
	p.bytes(c.Params)
	p.number(uint64(c.LogLevel))
	p.flag(c.Repeatable)
	p.time(c.Deadline)
	p.text(c.Trace)
	p.time(c.Began)
	p.principal(&c.Principal)
	p.text(c.Backend)
	if c.Via != "" || c.Shown != "" || c.Added != nil { // Other records are those of earlier releases.
		p.text(c.Via)
		p.text(c.Shown)
		p.bytes(c.Added)
	}
	return p
}

func unpackCall(id string, record []byte) (state.Request, error) {
	u := open(record)
	c := state.Request{ID: id, RequestID: u.text(), Method: mcp.Method(u.text()), Params: u.bytes()}
	c.LogLevel, c.Repeatable = mcp.LogLevel(u.number()), u.flag() // #nosec G115 -- packed from a LogLevel
	c.Deadline, c.Trace, c.Began = u.time(), u.text(), u.time()
	c.Principal, c.Backend = u.principal(), u.text()
	if len(u.rest) > 0 {
		c.Via = u.text()
	}
	if len(u.rest) > 0 {
		c.Shown, c.Added = u.text(), u.bytes()
	}
	return c, u.err()
}

// packAsk packs an ask without its message, which is stored beside it.
func packAsk(a *state.Ask) []byte {
	p := packer{format}
	p.text(a.ID)
	p.text(a.Key)
	p.text(string(a.Method))
	p.text(a.ElicitationID)
	p.time(a.Asked)
	return p
}

func unpackAsk(record, message []byte) (state.Ask, error) {
	u := open(record)
	a := state.Ask{ID: u.text(), Key: u.text(), Method: mcp.Method(u.text()), ElicitationID: u.text(), Asked: u.time()}
	if len(message) > 0 {
		a.Message = message
	}
	return a, u.err()
}

func packAnswer(a state.Answer) []byte {
	p := packer{format}
	p.bytes(a.Result)
	p.bytes(a.Error)
	p.principal(&a.By)
	p.flag(a.Withdrawn)
	return p
}

func unpackAnswer(record []byte) (state.Answer, error) {
	u := open(record)
	a := state.Answer{Result: json.RawMessage(u.bytes()), Error: json.RawMessage(u.bytes()), By: u.principal(), Withdrawn: u.flag()}
	return a, u.err()
}
