package redis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// readOwned reads the result of the scripts' function owned: session record, call id, the call's
// fields.
func (r *Replica) readOwned(session string, rep reply) (*medium.Owned, error) {
	rec, err := r.readReplied(session, rep.list(0))
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", mcp.SessionPrint(session), err)
	}
	id, fields := rep.text(1), fieldsOf(rep.list(2))
	if err := r.seals.openFields(session, id, fields); err != nil {
		return nil, fmt.Errorf("call %s: %w", medium.NameOf(session, id), err)
	}
	call, err := readRecord(session, id, fields)
	if err != nil {
		return nil, err
	}
	return &medium.Owned{Record: call, Session: rec}, nil
}

// fieldsOf converts the result of HGETALL.
func fieldsOf(list []any) map[string]string {
	f := make(map[string]string, len(list)/2)
	for ; len(list) > 1; list = list[2:] {
		k, _ := list[0].(string)
		f[k], _ = list[1].(string)
	}
	return f
}

// readRecord converts the fields of a call, which steps.lua lists, once they are open.
func readRecord(session, id string, f map[string]string) (*medium.Record, error) {
	r := &medium.Record{
		Session: session, Stream: f["st"], Batch: int(count(f["bt"])), Phase: state.Phase(count(f["ph"])), // #nosec G115 -- small counts
		Epoch: medium.Epoch(count(f["ep"])), N: count(f["n"]), Start: count(f["sp"]), Last: count(f["la"]), Cancelled: f["cx"] == "1", CancelledBy: f["cb"],
	}
	if b := f["br"]; b != "" {
		r.Brief = []byte(b)
	}
	if r.ID = id; r.Phase == state.PhaseDone {
		if dl := count(f["dl"]); dl > 0 {
			r.Deadline = time.UnixMilli(int64(dl)) // #nosec G115 -- it was an int64
		}
		return r, nil
	}
	if err := unpack([]byte(f["b"]), &r.Request, (*codec).request); err != nil {
		return nil, fmt.Errorf("call %s: %w", medium.NameOf(session, id), err)
	}
	r.Round, r.Attempt, r.Lapses = int(count(f["rd"])), int(count(f["at"])), int(count(f["lp"])) // #nosec G115 -- small counts
	r.Resumable = f["rs"] == "1"
	if s := f["sv"]; s != "" {
		r.State = []byte(s)
	}
	if p, ok := f["pr"]; ok {
		r.Progress, _ = strconv.ParseFloat(p, 64)
		r.HasProgress = true
	}
	for k, v := range f {
		if key, ok := strings.CutPrefix(k, "o:"); ok {
			if r.Open == nil {
				r.Open = map[string]string{}
			}
			r.Open[key] = v
		}
	}
	for i := uint64(1); i <= count(f["na"]); i++ {
		n, q := strconv.FormatUint(i, 10), medium.Question{}
		if err := unpack([]byte(f["a:"+n]), &q.Ask, (*codec).ask); err != nil {
			return nil, fmt.Errorf("call %s: %w", medium.NameOf(session, id), err)
		}
		if message := f["g:"+n]; message != "" {
			q.Message = []byte(message)
		}
		if answer, ok := f["r:"+n]; ok {
			q.Answer = &state.Answer{Token: f["t:"+n]}
			if err := unpack([]byte(answer), q.Answer, (*codec).answer); err != nil {
				return nil, fmt.Errorf("call %s: %w", medium.NameOf(session, id), err)
			}
		}
		r.Asked = append(r.Asked, q)
	}
	return r, nil
}

// recordFields returns the fields of a call, which steps.lua lists, without its owner.
func recordFields(r *medium.Record) []any {
	out := []any{
		"st", r.Stream, "bt", r.Batch, "dl", millis(r.Deadline), "ph", int(r.Phase), "ep", text(r.Epoch), "n", text(r.N), "sp", text(r.Start), "la", text(r.Last),
	}
	if len(r.Brief) > 0 {
		out = append(out, "br", r.Brief)
	}
	if r.Phase == state.PhaseDone {
		return out
	}
	out = append(out, "b", pack(&r.Request, (*codec).request), "rd", r.Round, "at", r.Attempt, "lp", r.Lapses, "len", r.Request.Bytes(), "kept", r.KeptBytes(), "sv", r.State)
	if r.HasProgress {
		out = append(out, "pr", strconv.FormatFloat(r.Progress, 'g', -1, 64))
	}
	if r.Resumable {
		out = append(out, "rs", 1)
	}
	if r.Cancelled {
		out = append(out, "cx", 1)
	}
	if r.CancelledBy != "" {
		out = append(out, "cb", []byte(r.CancelledBy))
	}
	for k, v := range r.Open {
		out = append(out, "o:"+k, []byte(v))
	}
	out = append(out, "na", len(r.Asked), "miss", r.Missing())
	for i := range r.Asked {
		n, q := strconv.Itoa(i+1), &r.Asked[i]
		out = append(out, "i:"+n, q.ID, "a:"+n, pack(&q.Ask, (*codec).ask), "g:"+n, q.Message)
		if q.Answer != nil {
			out = append(out, "r:"+n, pack(q.Answer, (*codec).answer), "t:"+n, q.Answer.Token)
		}
	}
	return out
}

// flag formats a boolean for scripts.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func count(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

// millis formats a deadline for scripts; 0 means none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.UnixMilli(), 1)
}
