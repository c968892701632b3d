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

var errRecord = errors.New("a record in Redis cannot be read: it was written by another program or a newer release")

// codec packs or unpacks a record. A method for each type of record lists its fields in their order, for
// both directions: each method packs the value at its argument, which it only reads, or, if reads is
// true, sets it to the next field of the record.
type codec struct {
	reads bool
	// record is what was packed, or what is still to be unpacked.
	record []byte
	// bad means that the record cannot be unpacked.
	bad bool
}

// pack packs the fields of a value.
func pack[T any](v *T, fields func(*codec, *T)) []byte {
	c := codec{record: []byte{format}}
	fields(&c, v)
	return c.record
}

// unpack unpacks the fields of a value, which alias the record.
func unpack[T any](record []byte, v *T, fields func(*codec, *T)) error {
	if len(record) == 0 || record[0] != format {
		return errRecord
	}
	c := codec{reads: true, record: record[1:]}
	if fields(&c, v); c.bad {
		return errRecord
	}
	return nil
}

// put appends a field.
func put[T ~string | ~[]byte](c *codec, field T) {
	c.record = append(binary.AppendUvarint(c.record, uint64(len(field))), field...)
}

// next returns the next field; nil if it is empty.
func (c *codec) next() []byte {
	n, size := binary.Uvarint(c.record)
	if size <= 0 || n > uint64(len(c.record)-size) { // #nosec G115 -- size is at most the length
		c.bad, c.record = true, nil
		return nil
	}
	field := c.record[size : size+int(n) : size+int(n)] // #nosec G115 -- compared with the length above
	c.record = c.record[size+int(n):]                   // #nosec G115 -- compared with the length above
	if n == 0 {
		return nil
	}
	return field
}

// follows reports whether a record has further fields. One that is packed has them if they are
// needed; a record without them has the form of earlier releases.
func (c *codec) follows(needed bool) bool {
	if c.reads {
		return len(c.record) > 0
	}
	return needed
}

func (c *codec) text(s *string) {
	if c.reads {
		*s = string(c.next())
	} else {
		put(c, *s)
	}
}

func (c *codec) json(b *json.RawMessage) {
	if c.reads {
		*b = c.next()
	} else {
		put(c, *b)
	}
}

func (c *codec) number(n *uint64) {
	if !c.reads {
		put(c, binary.AppendUvarint(nil, *n))
		return
	}
	v, size := binary.Uvarint(c.next())
	*n, c.bad = v, c.bad || size <= 0
}

func (c *codec) level(l *mcp.LogLevel) {
	n := uint64(*l)
	if c.number(&n); c.reads {
		*l = mcp.LogLevel(n) // #nosec G115 -- packed from a LogLevel
	}
}

func (c *codec) flag(b *bool) {
	n := uint64(0)
	if *b {
		n = 1
	}
	if c.number(&n); c.reads {
		*b = n == 1
	}
}

// lastTime is the latest time in nanoseconds since 1970, in the year 2262.
var lastTime = time.Unix(0, math.MaxInt64)

// time packs nanoseconds. The zero time stays zero; a time after lastTime becomes lastTime.
func (c *codec) time(t *time.Time) {
	n := uint64(0)
	switch {
	case c.reads || t.IsZero():
	case t.After(lastTime):
		n = math.MaxInt64
	default:
		n = uint64(t.UnixNano())
	}
	if c.number(&n); c.reads && n > 0 {
		*t = time.Unix(0, int64(n)) // #nosec G115 -- packed from an int64
	}
}

func (c *codec) texts(list *[]string) {
	n := uint64(len(*list))
	c.number(&n)
	for i := uint64(0); i < n && !c.bad; i++ {
		if c.reads {
			*list = append(*list, "")
		}
		c.text(&(*list)[i])
	}
}

// session has the fields of a session without its subscriptions, which are stored separately.
func (c *codec) session(s *state.Session) {
	c.text(&s.ID)
	c.text(&s.Version)
	c.principal(&s.Principal)
	c.json(&s.ClientInfo)
	c.json(&s.Capabilities)
	c.level(&s.LogLevel)
	c.flag(&s.Initialized)
	for _, n := range []*uint64{&s.Digest.Tools, &s.Digest.Resources, &s.Digest.Prompts, &s.Attachment, &s.Serial} {
		c.number(n)
	}
	c.text(&s.AttachedBy)
	c.time(&s.Created)
	c.texts(&s.Tasks)
	c.time(&s.Keep)
	if c.follows(s.Set != "") {
		c.text(&s.Set)
	}
}

func (c *codec) principal(who *mcp.Principal) {
	c.text(&who.Subject)
	c.text(&who.Issuer)
	c.texts(&who.Scopes)
	c.texts(&who.Roles)
	c.text(&who.Client)
	c.text(&who.Actor)
	c.text(&who.TokenID)
	c.time(&who.Until)
	c.forwarded(&who.Forwarded)
	c.claims(&who.Claims)
	c.flag(&who.SubjectIsClient)
}

// claims packs claims as one JSON object, which preserves the digits of numbers.
func (c *codec) claims(claims *map[string]json.RawMessage) {
	var raw json.RawMessage
	if len(*claims) > 0 {
		raw, _ = json.Marshal(*claims)
	}
	if c.json(&raw); c.reads && raw != nil && json.Unmarshal(raw, claims) != nil {
		c.bad = true
	}
}

func (c *codec) forwarded(claims *map[string]json.RawMessage) {
	n := uint64(len(*claims))
	c.number(&n)
	if !c.reads {
		for _, name := range slices.Sorted(maps.Keys(*claims)) {
			put(c, name)
			put(c, (*claims)[name])
		}
		return
	}
	for ; n > 0 && !c.bad; n-- {
		if *claims == nil {
			*claims = map[string]json.RawMessage{}
		}
		name := string(c.next())
		(*claims)[name] = c.next()
	}
}

// request has the fields of a call that never change, without its id.
func (c *codec) request(r *state.Request) {
	c.text(&r.RequestID)
	c.text((*string)(&r.Method))
	c.json(&r.Params)
	c.level(&r.LogLevel)
	c.flag(&r.Repeatable)
	c.time(&r.Deadline)
	c.text(&r.Trace)
	c.time(&r.Began)
	c.principal(&r.Principal)
	c.text(&r.Backend)
	more := r.Via != "" || r.Shown != "" || r.Added != nil
	if c.follows(more) {
		c.text(&r.Via)
	}
	if c.follows(more) {
		c.text(&r.Shown)
		c.json(&r.Added)
	}
}

// ask has the fields of an ask without its message, which is stored beside it.
func (c *codec) ask(a *state.Ask) {
	c.text(&a.ID)
	c.text(&a.Key)
	c.text((*string)(&a.Method))
	c.text(&a.ElicitationID)
	c.time(&a.Asked)
}

// answer has the fields of an answer without its token, which is stored beside it.
func (c *codec) answer(a *state.Answer) {
	c.json(&a.Result)
	c.json(&a.Error)
	c.principal(&a.By)
	c.flag(&a.Withdrawn)
}
