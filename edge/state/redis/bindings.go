package redis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// The bindings of sealed values, as listed in seal.go.

func bindRecord(session string) binding       { return binding{what: "session", session: session} }
func bindSubscription(session string) binding { return binding{what: "subscription", session: session} }
func bindCanceller(session string) binding    { return binding{what: "canceller", session: session} }
func bindNames(backend string) binding        { return binding{what: "names", id: backend} }
func bindEvent(replica string) binding        { return binding{what: "event", id: replica} }
func bindRelayed(to, kind, message string) binding {
	return binding{what: "relay", session: to, id: message, field: kind}
}
func bindCall(session, call, field string) binding {
	return binding{what: "call", session: session, id: call, field: field}
}
func bindAsk(session, ask, field string) binding {
	return binding{what: "ask", session: session, id: ask, field: field}
}
func bindEntry(session, stream string, kind state.EntryKind) binding {
	return binding{what: "entry", session: session, id: stream, field: strconv.Itoa(int(kind))}
}

// bindField returns the binding of a field of a call's hash (steps.lua), and whether the field is
// sealed. id returns the id of the question whose number is n.
func bindField(session, call, field string, id func(n string) string) (b binding, ok bool) {
	head, n, _ := strings.Cut(field, ":")
	switch head {
	case "b", "sv", "br", "o":
		return bindCall(session, call, field), true
	case "cb":
		return bindCanceller(session), true
	case "a", "g", "r":
		return bindAsk(session, id(n), head), true
	}
	return binding{}, false
}

// openFields opens the fields of a call's hash in place.
func (s *sealer) openFields(session, call string, f map[string]string) error {
	id := func(n string) string { return f["i:"+n] }
	for field, stored := range f {
		if !isMarked(stored) {
			continue
		}
		if b, ok := bindField(session, call, field, id); ok {
			plain, err := s.open(b, stored)
			if err != nil {
				return err
			}
			f[field] = string(plain)
		}
	}
	return nil
}

// sealFields seals the fields of a call's hash, each followed by its value, in place. Values that are
// sealed are bytes.
func (s *sealer) sealFields(r *medium.Record, fields []any) []any {
	id := func(n string) string {
		i, _ := strconv.Atoi(n)
		return r.Asked[i-1].ID
	}
	for i := 0; i+1 < len(fields); i += 2 {
		name, _ := fields[i].(string)
		if b, ok := bindField(r.Session, r.ID, name, id); ok {
			fields[i+1] = s.seal(b, fields[i+1].([]byte))
		}
	}
	return fields
}

// sealEntries returns the entries of a stream with sealed data, each for itself, because scripts
// drop single ones.
func (s *sealer) sealEntries(session, stream string, entries []state.Entry) []state.Entry {
	if len(s.keys) == 0 || len(entries) == 0 {
		return entries
	}
	out := make([]state.Entry, len(entries))
	for i, e := range entries {
		e.Data = s.seal(bindEntry(session, stream, e.Kind), e.Data)
		out[i] = e
	}
	return out
}

// sealLog is sealEntries for a whole log.
func (s *sealer) sealLog(session, stream string, log []medium.Entry) []medium.Entry {
	out := slices.Clone(log)
	for i, e := range s.sealEntries(session, stream, withoutEpochs(log)) {
		out[i].Entry = e
	}
	return out
}

// openEntries opens the data of a stream's entries in place.
func (s *sealer) openEntries(session, stream string, entries []state.Entry) error {
	for i := range entries {
		e := &entries[i]
		var err error
		if e.Data, err = s.openBytes(bindEntry(session, stream, e.Kind), e.Data); err != nil {
			return err
		}
	}
	return nil
}
