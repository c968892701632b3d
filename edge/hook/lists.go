package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// An RPC about a list has at most maxEntries entries, with at most maxEntryBytes together. A larger
// entry is sent alone.
const (
	maxEntries    = 500
	maxEntryBytes = 1 << 20
)

// MaxTitle and MaxDescription bound the texts that a hook may set in an entry of a list, in bytes.
const (
	MaxTitle       = 1 << 10
	MaxDescription = 64 << 10
)

// Lists applies hooks to the lists of backends. Use NewLists to create one. It is safe for
// concurrent use.
type Lists struct {
	chain *Chain
	log   *slog.Logger

	mu sync.Mutex
	// lastLogged is the last log line for each hook, backend and kind.
	lastLogged map[string]logLine
}

// logPause is the minimum interval between log lines about one hook, backend and kind.
const logPause = time.Minute

// logLine is a log line and its time. The zero time means that there was none.
type logLine struct {
	text string
	at   time.Time
}

// NewLists returns Lists for the hooks that check lists, in their order. It returns nil if none
// does.
func NewLists(hooks []*Hook, log *slog.Logger) *Lists {
	var asked []*Hook
	for _, h := range hooks {
		if h.On(List) {
			asked = append(asked, h)
		}
	}
	if asked == nil {
		return nil
	}
	return &Lists{chain: NewChain(asked), log: log, lastLogged: map[string]logLine{}}
}

// Review returns the entries of a backend's list after the verdicts of the hooks. entries are
// tools, prompts, resources or templates, and are not modified. prefix is the prefix of the
// backend's names. The error names a hook that could not check the list: the caller must then not
// serve it.
func (l *Lists) Review(ctx context.Context, backend, prefix string, entries []proto.Message) ([]proto.Message, error) {
	if !l.chain.Acquire() {
		return nil, errors.New("the hooks were replaced")
	}
	defer l.chain.Release()
	for _, h := range l.chain.Hooks() {
		left := make([]proto.Message, 0, len(entries))
		var hidden, changed []string
		for part := range inParts(entries) {
			verdicts, err := h.checkList(ctx, backend, prefix, part)
			if err != nil {
				return nil, err
			}
			for i, e := range part {
				if verdicts == nil { // The hook failed, and on-failure or mode passes the list.
					left = append(left, e)
					continue
				}
				now := apply(e, verdicts[i])
				switch name := nameOf(e); {
				case now == nil:
					hidden = append(hidden, name)
				case now != e:
					changed = append(changed, name)
				}
				if h.o.Audit {
					now = e
				}
				if now != nil {
					left = append(left, now)
				}
			}
		}
		if len(entries) > 0 {
			l.logChanges(h, backend, string(entries[0].ProtoReflect().Descriptor().Name()), hidden, changed)
		}
		entries = left
	}
	return entries, nil
}

// inParts yields the parts of a list. Each part is for one RPC.
func inParts(entries []proto.Message) func(yield func([]proto.Message) bool) {
	return func(yield func([]proto.Message) bool) {
		from, bytes := 0, 0
		for i, e := range entries {
			n := proto.Size(e)
			if i > from && (i-from == maxEntries || bytes+n > maxEntryBytes) {
				if !yield(entries[from:i]) {
					return
				}
				from, bytes = i, 0
			}
			bytes += n
		}
		if from < len(entries) {
			yield(entries[from:])
		}
	}
}

// checkList consults the hook about entries. If the hook fails, verdicts is nil and the entries
// pass, unless the error says that they must not be served.
func (h *Hook) checkList(ctx context.Context, backend, prefix string, entries []proto.Message) (verdicts []*hookv1.ListVerdict, _ error) {
	req := &hookv1.CheckListRequest{}
	for _, e := range entries {
		req.Entries = append(req.Entries, entryOf(backend, prefix, e))
	}
	d, err := h.consult(ctx, List, func(ctx context.Context) (Outcome, string, error) {
		resp, err := h.server.CheckList(ctx, req, grpc.MaxCallRecvMsgSize(2*proto.Size(req)+responseMargin))
		if err != nil {
			return Failed, "", err
		}
		outcome, err := verdictOf(resp.GetVerdicts(), entries)
		verdicts = resp.GetVerdicts()
		return outcome, "", err
	})
	switch {
	case err != nil:
		return nil, err
	case !d.Outcome.Failure():
		return verdicts, nil
	case d.Refuses():
		return nil, fmt.Errorf("the hook %q, which must check the list, failed: %s", d.Name, d.Reason)
	}
	return nil, nil
}

// verdictOf returns the outcome of an RPC. It is Replaced if a verdict hides an entry or changes
// its texts. The error means that the verdicts cannot be used.
func verdictOf(verdicts []*hookv1.ListVerdict, entries []proto.Message) (Outcome, error) {
	if len(verdicts) != len(entries) {
		return Failed, fmt.Errorf("its response has %d verdicts on %d entries", len(verdicts), len(entries))
	}
	outcome := Passed
	for i, v := range verdicts {
		switch v := v.GetVerdict().(type) {
		case *hookv1.ListVerdict_Pass:
		case *hookv1.ListVerdict_Deny:
			outcome = Replaced
		case *hookv1.ListVerdict_Replace:
			outcome = Replaced
			if t := v.Replace; len(t.GetTitle()) > MaxTitle || len(t.GetDescription()) > MaxDescription {
				return Failed, fmt.Errorf("the texts for the entry %.80q are longer than %d bytes of a title, or %d of a description",
					nameOf(entries[i]), MaxTitle, MaxDescription)
			}
		default:
			return Failed, fmt.Errorf("the entry %.80q has no verdict: set pass, replace or deny", nameOf(entries[i]))
		}
	}
	return outcome, nil
}

// nameOf returns the backend's own name of an entry: the name, the URI of a resource, or the text
// of a template.
func nameOf(e proto.Message) string {
	switch e := e.(type) {
	case *pb.Tool:
		return e.GetName()
	case *pb.Prompt:
		return e.GetName()
	case *pb.Resource:
		return e.GetUri()
	case *pb.ResourceTemplate:
		return e.GetUriTemplate()
	}
	return ""
}

// entryOf describes an entry to a hook.
func entryOf(backend, prefix string, e proto.Message) *hookv1.ListEntry {
	own := nameOf(e)
	t := &hookv1.Target{Backend: backend, Name: own, OwnName: own}
	out := &hookv1.ListEntry{Target: t}
	switch e := e.(type) {
	case *pb.Tool:
		t.Kind, t.Name = hookv1.TargetKind_TARGET_KIND_TOOL, prefix+own
		t.Hints = &hookv1.ToolHints{
			ReadOnly: e.GetAnnotations().GetReadOnly(), Idempotent: e.GetAnnotations().GetIdempotent(),
			Destructive: e.GetAnnotations() == nil || e.GetAnnotations().Destructive == nil || e.GetAnnotations().GetDestructive(),
			OpenWorld:   e.GetAnnotations() == nil || e.GetAnnotations().OpenWorld == nil || e.GetAnnotations().GetOpenWorld(),
		}
		out.Title, out.Description, out.Entry = e.GetTitle(), e.GetDescription(), &hookv1.ListEntry_Tool{Tool: e}
	case *pb.Prompt:
		t.Kind, t.Name = hookv1.TargetKind_TARGET_KIND_PROMPT, prefix+own
		out.Title, out.Description, out.Entry = e.GetTitle(), e.GetDescription(), &hookv1.ListEntry_Prompt{Prompt: e}
	case *pb.Resource:
		t.Kind = hookv1.TargetKind_TARGET_KIND_RESOURCE
		out.Title, out.Description, out.Entry = e.GetTitle(), e.GetDescription(), &hookv1.ListEntry_Resource{Resource: e}
	case *pb.ResourceTemplate:
		t.Kind = hookv1.TargetKind_TARGET_KIND_TEMPLATE
		out.Title, out.Description, out.Entry = e.GetTitle(), e.GetDescription(), &hookv1.ListEntry_Template{Template: e}
	}
	return out
}

// apply returns an entry after a verdict that verdictOf has accepted. It returns nil if the verdict
// hides the entry.
func apply(e proto.Message, verdict *hookv1.ListVerdict) proto.Message {
	if verdict.GetDeny() != nil {
		return nil
	}
	with := verdict.GetReplace()
	if with == nil {
		return e
	}
	out := proto.Clone(e)
	switch out := out.(type) {
	case *pb.Tool:
		if out.Title, out.Description = with.GetTitle(), with.GetDescription(); out.GetAnnotations() != nil {
			out.Annotations.Title = "" // clients may show this title instead
		}
	case *pb.Prompt:
		out.Title, out.Description = with.GetTitle(), with.GetDescription()
	case *pb.Resource:
		out.Title, out.Description = with.GetTitle(), with.GetDescription()
	case *pb.ResourceTemplate:
		out.Title, out.Description = with.GetTitle(), with.GetDescription()
	}
	if proto.Equal(out, e) {
		return e
	}
	return out
}

// logChanges logs what a hook hides and changes in a list. It does not repeat the last line, and logs at
// most once in logPause, because lists differ between callers.
func (l *Lists) logChanges(h *Hook, backend, kind string, hidden, changed []string) {
	names := func(list []string) string {
		slices.Sort(list)
		const most = 20
		text := clip(strings.Join(list[:min(len(list), most)], ", "))
		if len(list) > most {
			text += fmt.Sprintf(" and %d more", len(list)-most)
		}
		return text
	}
	text := names(hidden) + "\x00" + names(changed)
	key := h.Name() + "\x00" + backend + "\x00" + kind
	now := time.Now()
	l.mu.Lock()
	was, known := l.lastLogged[key]
	silent := was.text == text || !known && len(hidden)+len(changed) == 0 || now.Sub(was.at) < logPause
	if !silent {
		l.lastLogged[key] = logLine{text, now}
	}
	l.mu.Unlock()
	if silent {
		return
	}
	message := "a hook hides or changes other entries of a list than before"
	if h.o.Audit {
		message = "a hook would hide or change other entries of a list than before, if it were not for its setting mode"
	}
	l.log.Info(message, "hook", h.Name(), "backend", backend, "kind", kind, "hidden", names(hidden), "changed", names(changed))
}
