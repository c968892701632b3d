package catalog

import (
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// skillFile ends the URI of a skill; what is before it is its directory.
const SkillFile = "/SKILL.md"

// directoryType is the MIME type of directories (Skills, "Directory Resources").
const DirectoryType = "inode/directory"

// skillsFeature says whether skills are served. Directories are only if every backend with skills has them: clients are told
// of all skills at once.
func (m *merge) skillsFeature(f *translate.Features) {
	f.Directories = true
	for _, p := range m.parts {
		if p.Catalog.HasSkills {
			f.Skills = true
			f.Directories = f.Directories && p.Catalog.Describe.GetResources().GetDirectories()
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
		for _, x := range p.Catalog.Skills {
			if kept := s.foreign(x, m.rank(p)); kept != "" {
				s.conflicts = append(s.conflicts, Conflict{What: "skill", Key: x.GetUri(), Kept: kept, Dropped: p.Backend.Name()})
				continue
			}
			render := func(dst []byte, _ *revision.Rules) ([]byte, error) { return translate.AppendSkill(dst, x) }
			target := s.entryTarget(mcp.MethodSkillsGet, x.GetUri(), p.Backend, len(p.Catalog.Skills))
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
		return s.owners.parts[holder].Backend.Name()
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
