package catalog

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// listKind is one of the lists. Cursors contain it, so its values never change.
type listKind byte

const (
	listTools     listKind = 1
	listResources listKind = 2
	listTemplates listKind = 3
	listPrompts   listKind = 4
	listSkills    listKind = 5
)

// String returns the list's method.
func (k listKind) String() string {
	switch k {
	case listTools:
		return string(mcp.MethodToolsList)
	case listResources:
		return string(mcp.MethodResourcesList)
	case listTemplates:
		return string(mcp.MethodTemplatesList)
	case listSkills:
		return string(mcp.MethodSkillsList)
	default:
		return string(mcp.MethodPromptsList)
	}
}

// head returns the beginning of the result.
func (k listKind) head() string {
	switch k {
	case listTools:
		return `{"tools":[`
	case listResources:
		return `{"resources":[`
	case listTemplates:
		return `{"resourceTemplates":[`
	case listSkills:
		return `{"skills":[`
	default:
		return `{"prompts":[`
	}
}

// list is one merged list: the entries in configuration order of their backends, then in each
// backend's own order. It is immutable except for its renderings, which are made once for each
// requested revision.
type list struct {
	kind    listKind
	Entries []*entry
	spans   map[string]span // of every configured backend, by name
	hint    translate.CacheHint
	report  *reporter
	// paged means that no report about several pages is due: it was made, or is not needed.
	paged atomic.Bool

	// whole is the list of which this one is a subset. numbers are the indexes of this list's
	// entries in whole. nil means that this list is complete. Renderings share the body of whole's
	// rendering.
	whole   *list
	numbers []int
	// own are the entries that come before those of whole, which lacks them. nil means none.
	own *list

	mu       sync.Mutex // rendering
	rendered []atomic.Pointer[rendering]
}

// entry is one item of a list.
type entry struct {
	owner string
	key   string // name as shown, URI or template
	// aliases are further keys by which it can be called.
	aliases []string
	hash    uint64
	// target is the input of policy rules for the entry.
	target policy.Target
	// render appends the entry's JSON.
	render func(dst []byte, r *revision.Rules) ([]byte, error)
	// shown returns everything that render reads: the object, and its shown name if that differs. A
	// nil object equals no other.
	shown func() (proto.Message, string)
	// sum caches the digest of what render appends. nil caches none.
	sum *entrySum
}

// entrySum is the digest of an entry, made at its first use.
type entrySum struct {
	once  sync.Once
	value uint64
}

// sumOf returns the digest of an entry as clients see it: under the newest revision of each era.
func (l *list) sumOf(e *entry) uint64 {
	if e.sum == nil {
		return l.makeSum(e)
	}
	e.sum.once.Do(func() { e.sum.value = l.makeSum(e) })
	return e.sum.value
}

// keepSums copies the digests of the previous list's entries that show the same. prev may be nil.
func (l *list) keepSums(prev *list) {
	if prev == nil {
		return
	}
	before := make(map[string]*entry, len(prev.Entries))
	for _, e := range prev.Entries {
		before[e.key] = e
	}
	for _, e := range l.Entries {
		if was := before[e.key]; was != nil && was.showsAs(e) {
			e.sum = was.sum
		}
	}
}

// showsAs reports whether both entries are known to be rendered alike.
func (e *entry) showsAs(other *entry) bool {
	if e.shown == nil || other.shown == nil {
		return false
	}
	a, as := e.shown()
	b, bs := other.shown()
	return as == bs && (a == b || proto.Equal(a, b))
}

func (l *list) makeSum(e *entry) uint64 {
	h := fnv.New64a()
	var scratch []byte
	for _, r := range []*revision.Rules{revision.Negotiate(""), revision.Stateless()} {
		scratch, _ = l.appendEntry(scratch[:0], e, r) // nothing, if it is left out
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(scratch))))
		_, _ = h.Write(scratch)
	}
	return h.Sum64()
}

// span is the range of a backend's entries: [from, to).
type span struct{ from, to int }

// rendering is a list under one revision. Its items are joined by commas unless there are other
// entries between them.
type rendering struct {
	body  []byte
	items []rendered
	// own is the body of the items that come first and are not in body.
	own []byte
	// gaps is true if there are other entries between the items, or some are in another body.
	gaps bool
}

// rendered is the position of an entry in the body of a rendering, or in own. end is its end among
// the items, which commas separate.
type rendered struct {
	entry, from, to, end int
	own                  bool
}

func newList(kind listKind, report *reporter) *list {
	return &list{
		kind: kind, spans: make(map[string]span), report: report,
		rendered: make([]atomic.Pointer[rendering], len(revision.All())),
	}
}

// under returns the list's rendering. It leaves out and reports an entry that cannot be rendered.
func (l *list) under(r *revision.Rules) *rendering {
	if out := l.rendered[r.Index].Load(); out != nil {
		return out
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if out := l.rendered[r.Index].Load(); out != nil {
		return out
	}
	if l.whole != nil {
		out := &rendering{gaps: true}
		if l.own != nil {
			first := l.own.under(r)
			out.own, out.items = first.body, slices.Clone(first.items)
			for i := range out.items {
				out.items[i].own = true
			}
		}
		out.add(l.whole.under(r), l.numbers, len(l.Entries)-len(l.numbers))
		l.rendered[r.Index].Store(out)
		return out
	}
	out := &rendering{items: make([]rendered, 0, len(l.Entries))}
	for i, e := range l.Entries {
		from := len(out.body)
		if from > 0 {
			out.body = append(out.body, ',')
		}
		start := len(out.body)
		body, ok := l.appendEntry(out.body, e, r)
		if !ok {
			out.body = out.body[:from]
			continue
		}
		out.body = body
		out.items = append(out.items, rendered{entry: i, from: start, to: len(body), end: len(body)})
	}
	l.rendered[r.Index].Store(out)
	return out
}

// appendEntry appends the JSON of an entry. If the entry cannot be rendered, it returns false, and
// reports that once.
func (l *list) appendEntry(dst []byte, e *entry, r *revision.Rules) ([]byte, bool) {
	out, err := e.render(dst, r)
	if err != nil {
		l.report.once("render\x00"+e.owner+"\x00"+l.kind.String()+"\x00"+e.key,
			"a list entry breaks the contract and is left out",
			"backend", e.owner, "list", l.kind.String(), "key", e.key, "error", err)
		return dst, false
	}
	return out, true
}

// add adds the items of another rendering with the given numbers, which must be ascending, and
// shares its bodies. They become the entries from first on.
func (out *rendering) add(whole *rendering, numbers []int, first int) {
	out.body, out.items = whole.body, slices.Grow(out.items, len(numbers))
	if whole.own != nil {
		out.own = whole.own
	}
	at, end := 0, 0
	if n := len(out.items); n > 0 {
		end = out.items[n-1].end
	}
	for i, n := range numbers {
		for at < len(whole.items) && whole.items[at].entry < n {
			at++
		}
		if at == len(whole.items) || whole.items[at].entry != n { // the entry could not be rendered
			continue
		}
		if len(out.items) > 0 {
			end += len(",")
		}
		item := whole.items[at]
		end += item.to - item.from
		item.entry, item.end = first+i, end
		out.items = append(out.items, item)
	}
}

// text returns the JSON of an item, which aliases the rendering.
func (out *rendering) text(item *rendered) []byte {
	body := out.body
	if item.own {
		body = out.own
	}
	return body[item.from:item.to]
}

// joined returns consecutive items joined by commas, size bytes long. Without gaps it is a slice of
// the body.
func (out *rendering) joined(items []rendered, size int) []byte {
	if !out.gaps {
		return out.body[items[0].from:items[len(items)-1].to]
	}
	text := make([]byte, 0, size)
	for i := range items {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, out.text(&items[i])...)
	}
	return text
}
