package dispatch

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// skillFile ends the URI of a skill; what is before it is its directory.
const skillFile = "/SKILL.md"

// directoryType is the MIME type of directories (Skills, "Directory Resources").
const directoryType = "inode/directory"

// skillsFeature says whether skills are served. Directories are only if every backend with skills has them: clients are told
// of all skills at once.
func (m *merge) skillsFeature(f *translate.Features) {
	f.Directories = true
	for _, p := range m.parts {
		if p.catalog.HasSkills {
			f.Skills = true
			f.Directories = f.Directories && p.catalog.Describe.GetResources().GetDirectories()
		}
	}
	if f.Directories = f.Directories && f.Skills; !f.Skills {
		return
	}
	if f.Extensions == nil {
		f.Extensions = make(map[string]string)
	}
	f.Extensions[mcp.ExtensionSkills] = `{}`
	if f.Directories {
		f.Extensions[mcp.ExtensionSkills] = `{"directoryRead":true}`
	}
}

// skills completes resources. A skill of which another backend serves a file is a conflict, since clients would read a file
// that is not as the skill says.
func (m *merge) skills(s *resourceSet) {
	s.skillList = m.list(listSkills, "skill", &s.conflicts, func(p part, add func(string, entry) bool) {
		for _, x := range p.catalog.Skills {
			if kept := s.foreign(x, m.rank(p)); kept != "" {
				s.conflicts = append(s.conflicts, Conflict{What: "skill", Key: x.GetUri(), Kept: kept, Dropped: p.backend.Name()})
				continue
			}
			render := func(dst []byte, _ *revision.Rules) ([]byte, error) { return translate.AppendSkill(dst, x) }
			target := policy.Target{Kind: policy.Resource, Method: mcp.MethodSkillsGet, Name: x.GetUri(), Backend: p.backend.Name()}
			add(x.GetUri(), entry{render: render, target: target})
		}
	}, nil)
}

// foreign names the backend which a file of a skill belongs to that is not the skill's; empty: none.
func (s *resourceSet) foreign(x *pb.Skill, rank int) string {
	is := func(uri string) string {
		holder, foreign := s.belongs(uri, rank)
		if !foreign {
			return ""
		}
		return s.owners.parts[holder].backend.Name()
	}
	if kept := is(x.GetUri()); kept != "" {
		return kept
	}
	for _, f := range x.GetFiles() {
		if kept := is(f.GetUri()); kept != "" {
			return kept
		}
	}
	return ""
}

// belongs reports whether a URI belongs, or may belong by a template that is not matched now, to another backend than that of
// a rank, and to which.
func (s *resourceSet) belongs(uri string, rank int) (holder int, foreign bool) {
	if holder, foreign = s.owners.foreign(listResources, uri, rank); foreign {
		return holder, true
	}
	if holder, ok := s.listedBy(uri); ok && holder < rank {
		return holder, true
	}
	return s.owners.covered(uri, rank)
}

// listedBy is the rank of whom a URI belongs to that is listed, by the spelling in which it is read.
func (s *resourceSet) listedBy(uri string) (rank int, listed bool) {
	sent, _ := s.spelled.of(uri)
	rank, listed = s.byURI[sent]
	return rank, listed
}

// about is what the backend of the URI of skills/get or resources/directory/read is told of the request, once those were asked who take long.
func (r *round) about(ctx context.Context) (*pb.RequestContext, error) {
	if err := r.admitted(ctx, r.found.owner.Name()); err != nil {
		return nil, err
	}
	about, err := translate.Context(r.call)
	if err != nil {
		return nil, err
	}
	r.tell(about, r.found.owner)
	return about, nil
}

// getSkill runs skills/get (Skills, "Getting a Skill"): the backend is asked, since the answer is how the skill is now.
func (r *round) getSkill(ctx context.Context) (mcp.Reply, error) {
	about, err := r.about(ctx)
	if err != nil {
		return mcp.Reply{}, err
	}
	found, owner, uri := r.found, r.found.owner, r.call.Params.Target
	ctx, end, err := r.begin(ctx, owner, uri)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	if err := r.await(ctx, nil); err != nil {
		return mcp.Reply{}, err
	}
	out, err := owner.Resources().GetSkill(ctx, &pb.GetSkillRequest{Uri: found.sent, Context: about})
	if err != nil {
		return mcp.Reply{}, r.notThere(ctx, err)
	}
	r.received(out)
	if got := out.GetSkill().GetUri(); got != found.sent && uris.Normal(got) != uris.Normal(found.sent) {
		return mcp.Reply{}, r.broken("GetSkill of %.200q answered with the skill %.200q", found.sent, got)
	}
	if err := r.vetFiles(ctx, owner, out.GetSkill()); err != nil {
		return mcp.Reply{}, err
	}
	r.narrow(out.GetCache())
	reply, err := translate.SkillResult(r.rules, r.d.server, r.call.Envelope, out)
	if err != nil {
		return mcp.Reply{}, r.blame(err)
	}
	return reply, nil
}

// vetFiles refuses a skill as lists leave it out: with a file that belongs to another backend it does not exist.
func (r *round) vetFiles(ctx context.Context, owner *backend.Backend, x *pb.Skill) error {
	v, rank, err := r.whole(ctx, owner)
	if err != nil {
		return err
	}
	if kept := v.resources.foreign(x, rank); kept != "" {
		r.d.report.conflict(Conflict{What: "skill", Key: x.GetUri(), Kept: kept, Dropped: owner.Name()})
		return r.unknown()
	}
	return nil
}

// whole is the view of all backends, of which r.view may lack those that cannot have what is named, and the rank of one in it.
func (r *round) whole(ctx context.Context, owner *backend.Backend) (v *view, rank int, err error) {
	if v, err = r.d.views.of(ctx, r.call.Principal); err != nil {
		return nil, 0, err
	}
	if rank = slices.IndexFunc(v.parts, func(p part) bool { return p.backend == owner }); rank < 0 {
		return nil, 0, r.unknown()
	}
	return v, rank, nil
}

// notThere: a backend without the RPC has nothing of the URI.
func (r *round) notThere(ctx context.Context, err error) error {
	if status.Code(err) == codes.Unimplemented {
		r.received(nil)
		return r.unknown()
	}
	return r.status(ctx, err)
}
