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

// A question about lists has at most maxEntries entries of maxEntryBytes together, unless the first is larger.
const (
	maxEntries    = 500
	maxEntryBytes = 1 << 20
)

// MaxTitle and MaxDescription bound the texts that a hook may give an entry of a list, in bytes.
const (
	MaxTitle       = 1 << 10
	MaxDescription = 64 << 10
)

// Lists reviews the lists of backends by hooks. Use NewLists to create one. It is safe for concurrent use.
type Lists struct {
	chain *Chain
	log   *slog.Logger

	mu sync.Mutex
	// said is what was logged last of each hook, backend and kind.
	said map[string]saying
}

// logPause is the shortest interval between log lines about what a hook does to the lists of one backend.
const logPause = time.Minute

// saying is what was logged, and when; the zero time means that nothing was.
type saying struct {
	text string
	at   time.Time
}

// NewLists returns the Lists of those hooks that check lists, in their order; nil if there are none.
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
	return &Lists{chain: NewChain(asked), log: log, said: map[string]saying{}}
}

// Review returns what the hooks leave of the entries of one list of a backend, which are tools, prompts, resources or templates and are not
// changed. prefix is that of the backend's names. The error says which hook could not check them: then none may be served.
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
				if verdicts == nil { // It failed, and what it fails to check passes.
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
			l.say(h, backend, string(entries[0].ProtoReflect().Descriptor().Name()), hidden, changed)
		}
		entries = left
	}
	return entries, nil
}

// inParts yields the parts of a list, each for one request to a hook.
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

// checkList asks about entries. It returns nil verdicts if the hook fails, and what it fails to check passes. The error says that it may not.
func (h *Hook) checkList(ctx context.Context, backend, prefix string, entries []proto.Message) (verdicts []*hookv1.ListVerdict, _ error) {
	req := &hookv1.CheckListRequest{}
	for _, e := range entries {
		req.Entries = append(req.Entries, entryOf(backend, prefix, e))
	}
	d, err := h.ask(ctx, List, func(ctx context.Context) (Outcome, string, error) {
		resp, err := h.server.CheckList(ctx, req, grpc.MaxCallRecvMsgSize(2*proto.Size(req)+spare))
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

// verdictOf returns the outcome of a question: a replacement if an entry is hidden or has other texts. The error says why the verdicts
// cannot be used.
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

// nameOf returns the own name of an entry: of a resource the URI, of a template its text.
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

// apply returns an entry after a verdict that verdictOf has accepted: nil if it is hidden.
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
			out.Annotations.Title = "" // It is another title for people.
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

// say logs what a hook hides and changes, if that is not what was logged last, at most once in logPause: lists of callers may differ.
func (l *Lists) say(h *Hook, backend, kind string, hidden, changed []string) {
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
	was, known := l.said[key]
	silent := was.text == text || !known && len(hidden)+len(changed) == 0 || now.Sub(was.at) < logPause
	if !silent {
		l.said[key] = saying{text, now}
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
