package backend

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/check/vet"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// list is the result of reading one kind of lists once, as one principal. It is immutable.
type list struct {
	// served is false when the backend does not implement the service.
	served bool
	// private is true if a page said that the list depends on the principal.
	private bool

	tools     []*pb.Tool
	resources []*pb.Resource
	templates []*pb.ResourceTemplate
	prompts   []*pb.Prompt

	// withheld is Catalog.Withheld, and listed is Catalog.listed.
	withheld map[string]bool
	listed   map[*pb.Tool]*pb.Tool

	skills []*pb.Skill
	// hasSkills is true if the backend implements skills; it may have none.
	hasSkills bool

	hint, templatesHint, skillsHint Hint
	digest                          uint64
	problems                        []string
	// bytes is the length of the encoding of all pages, and most the bound for each list.
	bytes, most int
}

// page holds the fields that the pages of all lists share.
type page[T proto.Message] struct {
	entries []T
	next    string
	cache   *pb.CacheHint
	bytes   int
}

// read lists one kind with all its pages, checks it, has it reviewed and computes its digest. A nil
// principal is the edge itself. A service that is not implemented is no error. The backend has
// Timeout for its list; ctx alone bounds the review.
func (b *Backend) read(ctx context.Context, kind Kinds, who *pb.Principal) (*list, error) {
	l, err := b.fetch(ctx, kind, who)
	if err != nil || !l.served {
		return l, err
	}
	if b.cfg.Review != nil {
		if err := l.review(ctx, b.cfg.Review); err != nil {
			return nil, err
		}
	}
	l.digest = l.sum(kind)
	return l, nil
}

// fetch is read without the review and the digest.
func (b *Backend) fetch(ctx context.Context, kind Kinds, who *pb.Principal) (*list, error) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	l := &list{served: true, most: MaxListBytes}
	if who != nil {
		l.most = MaxOwnListBytes
	}
	var err error
	switch kind {
	case Tools:
		err = l.readTools(ctx, b.tools, who)
	case Resources:
		err = l.readResources(ctx, b.resources, who)
	default:
		err = l.readPrompts(ctx, b.prompts, who)
	}
	if status.Code(err) == codes.Unimplemented {
		return &list{}, nil
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// sum returns the digest of the entries of a kind.
func (l *list) sum(kind Kinds) uint64 {
	switch kind {
	case Tools:
		return DigestOf(l.tools)
	case Prompts:
		return DigestOf(l.prompts)
	}
	n := DigestOf(l.resources)*31 + DigestOf(l.templates)
	for uri := range l.withheld { // in any order
		n += DigestOf([]*pb.Resource{{Uri: uri}})
	}
	if l.hasSkills {
		n = n*31 + DigestOf(l.skills)
	}
	return n
}

func (l *list) readTools(ctx context.Context, client pb.ToolServiceClient, who *pb.Principal) error {
	entries, err := pages(l, "ListTools", &l.hint, func(token string) (page[*pb.Tool], error) {
		res, err := client.ListTools(ctx, &pb.ListToolsRequest{Principal: who, PageToken: token})
		return page[*pb.Tool]{res.GetTools(), res.GetNextPageToken(), res.GetCache(), proto.Size(res)}, err
	})
	if err != nil {
		return err
	}
	l.tools = validEntries(l, entries, vet.Tool)
	return nil
}

func (l *list) readResources(ctx context.Context, client pb.ResourceServiceClient, who *pb.Principal) error {
	entries, err := pages(l, "ListResources", &l.hint, func(token string) (page[*pb.Resource], error) {
		res, err := client.ListResources(ctx, &pb.ListResourcesRequest{Principal: who, PageToken: token})
		return page[*pb.Resource]{res.GetResources(), res.GetNextPageToken(), res.GetCache(), proto.Size(res)}, err
	})
	if err != nil {
		return err
	}
	templates, err := pages(l, "ListResourceTemplates", &l.templatesHint, func(token string) (page[*pb.ResourceTemplate], error) {
		res, err := client.ListResourceTemplates(ctx, &pb.ListResourceTemplatesRequest{Principal: who, PageToken: token})
		return page[*pb.ResourceTemplate]{res.GetResourceTemplates(), res.GetNextPageToken(), res.GetCache(), proto.Size(res)}, err
	})
	// A backend may serve resources without templates.
	if err != nil && status.Code(err) != codes.Unimplemented {
		return err
	}
	l.resources = validEntries(l, entries, vet.Resource)
	l.templates = l.boundTemplates(validEntries(l, templates, vet.Template))
	return l.readSkills(ctx, client, who)
}

// boundTemplates returns the first templates within MaxTemplateVariables, and reports the others. This
// bounds the cost of matching a URI with a backend's templates.
func (l *list) boundTemplates(templates []*pb.ResourceTemplate) []*pb.ResourceTemplate {
	variables := 0
	for i, t := range templates {
		parsed, err := uris.Parse(t.GetUriTemplate())
		if err != nil {
			continue // vet has left it out.
		}
		if variables += 1 + len(parsed.Variables()); variables > MaxTemplateVariables {
			l.problem("ListResourceTemplates: %d templates from %.80q on are left out: all templates and their variables together may be %d",
				len(templates)-i, t.GetUriTemplate(), MaxTemplateVariables)
			return templates[:i:i]
		}
	}
	return templates
}

// readSkills completes readResources: a backend may serve resources without skills.
func (l *list) readSkills(ctx context.Context, client pb.ResourceServiceClient, who *pb.Principal) error {
	entries, err := pages(l, "ListSkills", &l.skillsHint, func(token string) (page[*pb.Skill], error) {
		res, err := client.ListSkills(ctx, &pb.ListSkillsRequest{Principal: who, PageToken: token})
		return page[*pb.Skill]{res.GetSkills(), res.GetNextPageToken(), res.GetCache(), proto.Size(res)}, err
	})
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	if err != nil {
		return err
	}
	l.hasSkills, l.skills = true, validEntries(l, entries, vet.Skill)
	return nil
}

func (l *list) readPrompts(ctx context.Context, client pb.PromptServiceClient, who *pb.Principal) error {
	entries, err := pages(l, "ListPrompts", &l.hint, func(token string) (page[*pb.Prompt], error) {
		res, err := client.ListPrompts(ctx, &pb.ListPromptsRequest{Principal: who, PageToken: token})
		return page[*pb.Prompt]{res.GetPrompts(), res.GetNextPageToken(), res.GetCache(), proto.Size(res)}, err
	})
	if err != nil {
		return err
	}
	l.prompts = validEntries(l, entries, vet.Prompt)
	return nil
}

// validEntries returns the valid entries and reports the others. check is a function of package vet.
func validEntries[T proto.Message](l *list, entries []T, check func(e T, note func(string)) (key string, err error)) []T {
	seen := make(map[string]bool, len(entries))
	kept := entries[:0]
	for i, e := range entries {
		what := e.ProtoReflect().Descriptor().Name()
		key, err := check(e, func(text string) { l.problem("%s %d: %s", what, i, text) })
		switch {
		case err != nil:
			l.problem("%s %d (%.80q) is left out: %v", what, i, key, err)
		case seen[key]:
			l.problem("%s %d (%.80q) is left out: there is one before it with the same key", what, i, key)
		default:
			seen[key] = true
			kept = append(kept, e)
		}
	}
	return slices.Clip(kept)
}

// boundError reports that a list exceeds a bound of the edge.
type boundError struct{ text string }

func (e *boundError) Error() string { return e.text }

// pages reads one list to its end, within the bounds. hint becomes the narrowest of all pages.
func pages[T proto.Message](l *list, rpc string, hint *Hint, fetch func(token string) (page[T], error)) ([]T, error) {
	var entries []T
	token, bytes := "", 0
	seen := map[string]bool{}
	for n := 1; ; n++ {
		p, err := fetch(token)
		if err != nil {
			return nil, err
		}
		h := l.hintOf(rpc, p.cache)
		if n == 1 {
			*hint = h
		}
		hint.TTL, hint.Public = min(hint.TTL, h.TTL), hint.Public && h.Public
		entries = append(entries, p.entries...)
		bytes += p.bytes
		token = p.next
		switch {
		case len(entries) > MaxEntries:
			return nil, &boundError{fmt.Sprintf("%s gives more than %d entries: shorten the list", rpc, MaxEntries)}
		case bytes > l.most:
			return nil, &boundError{fmt.Sprintf("%s gives more than %d bytes: shorten the list", rpc, l.most)}
		case token == "":
			l.bytes += bytes
			return entries, nil
		case seen[token]:
			return nil, &boundError{fmt.Sprintf("%s gives next_page_token %.40q a second time: the last page must have none", rpc, token)}
		case n == MaxPages:
			return nil, &boundError{fmt.Sprintf("%s does not end within %d pages: the last page must have no next_page_token", rpc, MaxPages)}
		}
		seen[token] = true
	}
}

// maxTTL is the longest time for which clients may cache a list.
const maxTTL = 30 * 24 * time.Hour

// hintOf reads one page's hint and whether it makes the list private. A TTL out of bounds is
// recorded as a problem and replaced by the nearest bound.
func (l *list) hintOf(rpc string, c *pb.CacheHint) Hint {
	if c == nil {
		return Hint{}
	}
	l.private = l.private || c.GetScope() == pb.CacheScope_CACHE_SCOPE_PRIVATE
	h := Hint{Public: c.GetScope() == pb.CacheScope_CACHE_SCOPE_PUBLIC}
	if c.GetTtl() == nil {
		return h
	}
	ttl := c.GetTtl().AsDuration()
	if h.TTL = min(max(ttl, 0), maxTTL).Truncate(time.Millisecond); h.TTL != ttl.Truncate(time.Millisecond) {
		l.problem("%s: cache.ttl is %v: it must be between 0 and %v; %v is used", rpc, ttl, maxTTL, h.TTL)
	}
	return h
}

// problem records a violation of the contract, once, up to MaxProblems.
func (l *list) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, p := range l.problems {
		if p == text {
			return
		}
	}
	if len(l.problems) < MaxProblems {
		l.problems = append(l.problems, text)
	}
}
