package jsonrpc

import (
	"encoding/json"
	"math"
)

// metaName is the member of params whose own members an [Outline] has, too.
const metaName = "_meta"

// maxPlaces bounds the members that an outline has: more than any method of MCP and its `_meta`
// define together. Each exchange allocates the room.
const maxPlaces = 14

// Outline has the places of the members of a message's params, and of the members of `_meta` in
// them, as [ParseOutlined] met them. They are offsets into the params: an outline serves a copy of
// them as well, and keeps nothing of the text alive. The zero value and nil are an outline of
// nothing, for which its methods scan the text.
type Outline struct {
	places [maxPlaces]place
	n      uint8
	state  outlineState
}

type outlineState uint8

const (
	notOutlined outlineState = iota
	outlined
	// overfull: the params have more members, or a longer name of one, than an outline has room for.
	overfull
)

// place is where a member stands, from the first byte of the params.
type place struct {
	key, from, to int32
	keyLen        uint16
	escaped       bool
	inMeta        bool
}

// outline passes the object at pos, the params of a message, and notes its members in o.
func (s *scanner) outline(o *Outline) bool {
	start := s.pos
	if len(s.data) > math.MaxInt32 {
		return s.value()
	}
	o.n, o.state = 0, outlined
	hasMeta := false
	return s.members(o, start, false, func() bool {
		if hasMeta || string(s.name()) != metaName || !s.at('{') {
			return s.value()
		}
		hasMeta = true
		return s.members(o, start, true, s.value)
	})
}

// members passes the object at pos. value passes the value of each member, which is noted in o.
func (s *scanner) members(o *Outline, start int, inMeta bool, value func() bool) bool {
	if !s.open() {
		return false
	}
	for more := s.firstKey(); more; more = s.nextKey() {
		keyLen := s.keyTo - s.keyFrom
		if keyLen > math.MaxUint16 {
			o.state = overfull
		}
		p := place{key: int32(s.keyFrom - start), keyLen: uint16(keyLen), escaped: s.keyEscaped, from: int32(s.pos - start), inMeta: inMeta} // #nosec G115 -- the text is no longer than MaxInt32, and an overfull outline is not read
		if !value() {
			return false
		}
		p.to = int32(s.pos - start) // #nosec G115 -- as above
		o.add(p)
	}
	return s.fault == noFault
}

func (o *Outline) add(p place) {
	if o.n == maxPlaces {
		o.state = overfull
		return
	}
	o.places[o.n] = p
	o.n++
}

// Members is [Members] for the params that were outlined, or a copy of them.
func (o *Outline) Members(params []byte, fn func(key []byte, value json.RawMessage) error) error {
	if o == nil || o.state != outlined {
		return Members(params, fn)
	}
	return o.each(params, false, fn)
}

// MetaMembers is [Members] for meta, the first `_meta` of the params that were outlined, an object.
func (o *Outline) MetaMembers(params, meta []byte, fn func(key []byte, value json.RawMessage) error) error {
	if o == nil || o.state != outlined {
		return Members(meta, fn)
	}
	return o.each(params, true, fn)
}

func (o *Outline) each(params []byte, inMeta bool, fn func(key []byte, value json.RawMessage) error) error {
	for i := range o.places[:o.n] {
		p := &o.places[i]
		if p.inMeta != inMeta {
			continue
		}
		key := params[p.key : p.key+int32(p.keyLen)]
		if p.escaped {
			key = unescape(nil, key)
		}
		if err := fn(key, params[p.from:p.to:p.to]); err != nil {
			return err
		}
	}
	return nil
}
