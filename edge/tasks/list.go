package tasks

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// newID is the id of a task that is made now: when, so that ids in their order are tasks in theirs, and 130 random bits.
func newID(now time.Time) string {
	at := binary.BigEndian.AppendUint64(nil, uint64(now.UnixNano())) // #nosec G115 -- not negative until 2262
	return idTime.EncodeToString(at) + rand.Text()
}

// idTime keeps the order of what it encodes. timeText is how long the time at the beginning of an id is.
var idTime = base32.HexEncoding.WithPadding(base32.NoPadding)

const timeText = 13

// createdAt is when the task of an id was made; zero: it is no id.
func createdAt(id string) time.Time {
	at, err := idTime.DecodeString(id[:min(len(id), timeText)])
	if err != nil || len(at) != 8 {
		return time.Time{}
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(at))) // #nosec G115 -- not beyond 2262
}

const (
	// maxPage bounds a page of tasks, each of which is read, loads how many are read at a time.
	maxPage, loads = 100, 16
	// listTimeout bounds how long a page may take.
	listTimeout = 10 * time.Second
)

// list serves tasks/list of 2025-11-25 (Tasks, "Listing Tasks"): the caller's own, from either era and any session, newest first.
func (t *Tasks) list(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	after, err := parseCursor(c.Params.Cursor, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	ids, err := t.idsOf(ctx, c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	if after != "" {
		ids = ids[firstBehind(ids, after):]
	}
	var views []*view
	last := ""
	for len(views) == 0 && len(ids) > 0 {
		page := ids[:min(len(ids), t.o.PageSize)]
		ids, last = ids[len(page):], page[len(page)-1]
		if views, err = t.loadAll(ctx, page, &c.Principal); err != nil {
			return mcp.Reply{}, err
		}
	}
	dst := []byte(`{"tasks":[`)
	for i, v := range views {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(t.appendTask(append(dst, '{'), rules, v), '}')
	}
	dst = append(dst, ']')
	if len(ids) > 0 {
		dst = append(append(append(dst, `,"nextCursor":"`...), cursorBehind(last, &c.Principal)...), '"')
	}
	return mcp.Reply{Result: append(dst, '}')}, nil
}

// idsOf are the ids of a principal's tasks, newest first. Some may have expired of late.
func (t *Tasks) idsOf(ctx context.Context, who mcp.Principal) ([]string, error) {
	sctx, cancel := bounded(ctx)
	defer cancel()
	ids, err := t.store.Of(sctx, who)
	if err != nil {
		return nil, t.storeError("", err)
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids, nil
}

// firstBehind is the place of the first of the ids, newest first, that is behind one that may not be there any more.
func firstBehind(ids []string, after string) int {
	i, there := slices.BinarySearchFunc(ids, after, func(id, after string) int { return strings.Compare(after, id) })
	if there {
		i++
	}
	return i
}

// together has read called for each of n tasks, a few at a time, and returns when all were.
func together(n int, read func(i int)) {
	turn := make(chan struct{}, loads)
	var all sync.WaitGroup
	for i := range n {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			read(i)
		})
	}
	all.Wait()
}

// loadAll reads tasks of a principal's. Those that have expired meanwhile are left out.
func (t *Tasks) loadAll(ctx context.Context, ids []string, who *mcp.Principal) ([]*view, error) {
	views, errs := make([]*view, len(ids)), make([]error, len(ids))
	together(len(ids), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			views[i], errs[i] = t.load(ctx, ids[i], who)
		}
	})
	for i, err := range errs {
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, mcp.Errorf(mcp.KindTimeout, "the tasks could not be read in time: list again")
		case mcp.AsError(err).Kind == mcp.KindInvalidParams:
			views[i] = nil
		default:
			return nil, err
		}
	}
	return slices.DeleteFunc(views, func(v *view) bool { return v == nil }), nil
}

// A cursor is a version, a hash of its caller, the id of the task that it is behind, and a checksum. It says where, never whose tasks: those
// listed are the caller's own, whatever it says.
const cursorVersion = 1

var cursorText = base64.RawURLEncoding.Strict()

func cursorBehind(id string, who *mcp.Principal) string {
	b := append(ownerHash(who, []byte{cursorVersion}), id...)
	return cursorText.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func ownerHash(who *mcp.Principal, dst []byte) []byte {
	sum := sha256.Sum256([]byte("tasks/list\x00" + who.Key()))
	return append(dst, sum[:8]...)
}

// parseCursor reads the params' cursor member, that of a principal; empty without an error: there is none.
func parseCursor(raw json.RawMessage, who *mcp.Principal) (after string, err error) {
	if len(raw) == 0 || jsonrpc.TypeOf(raw) == jsonrpc.Null {
		return "", nil
	}
	text, ok := jsonrpc.Unquote(raw)
	if !ok {
		return "", mcp.Errorf(mcp.KindBadCursor, "cursor must be a string, not %s", jsonrpc.TypeOf(raw))
	}
	const head, sum = 1 + 8, 4
	b, err := cursorText.DecodeString(text)
	if err == nil && len(b) > head+sum && len(b) <= head+maxID+sum {
		if id := string(b[head : len(b)-sum]); cursorBehind(id, who) == text {
			return id, nil
		}
	}
	return "", mcp.Errorf(mcp.KindBadCursor, "cursor %.64q was not given out for tasks/list: list again without a cursor", text)
}
