package catalog

import (
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// SkillFile ends the URI of a skill. The part before it is the skill's directory.
const SkillFile = "/SKILL.md"

// DirectoryType is the MIME type of directories (Skills, "Directory Resources").
const DirectoryType = "inode/directory"

// skillsFeature enables skills if they are served. It enables directories only if every backend
// with skills serves them, because clients learn of all skills at once.
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

// skills adds the skills to resources. A skill is a conflict if another backend owns one of its
// files, because clients would read a file that does not belong to the skill.
func (m *merge) skills(s *resourceSet) {
	s.skillList = m.list(listSkills, "skill", &s.conflicts, func(p part, add func(string, entry) []string) {
		shown := m.shownSkills(p)
		for i, x := range p.Catalog.Skills {
			if kept := s.foreign(x, m.rank(p)); kept != "" {
				s.conflicts = append(s.conflicts, Conflict{What: "skill", Key: x.GetUri(), Kept: kept, Dropped: p.Backend.Name()})
				continue
			}
			render := func(dst []byte, _ *revision.Rules) ([]byte, error) { return translate.AppendSkill(dst, shown[i]) }
			target := s.entryTarget(mcp.MethodSkillsGet, x.GetUri(), p.Backend, len(p.Catalog.Skills))
			add(x.GetUri(), entry{render: render, shown: func() (proto.Message, string) { return shown[i], "" }, target: target})
		}
	}, nil)
}

// shownSkills returns the skills of a part without the files that the overlay hides.
func (m *merge) shownSkills(p part) []*pb.Skill {
	of := 0
	for _, x := range p.Catalog.Skills {
		of += len(x.GetFiles())
	}
	shown := make([]*pb.Skill, len(p.Catalog.Skills))
	for i, x := range p.Catalog.Skills {
		shown[i] = shownSkill(m.overlay(listSkills), m.skillsBy[p.Backend], p.Backend.Name(), x, of/listWork)
	}
	return shown
}

// foreign returns the name of another backend that owns a file of the skill, or an empty name.
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

// belongs reports whether a URI belongs to a backend of another rank, which it returns. A template
// that may match counts, although it is not matched now.
func (s *resourceSet) belongs(uri string, rank int) (holder int, foreign bool) {
	if holder, foreign = s.owners.foreign(listResources, uri, rank); foreign {
		return holder, true
	}
	if holder, ok := s.listedBy(uri); ok && holder < rank {
		return holder, true
	}
	return s.owners.covered(uri, rank)
}

// listedBy returns the rank of the owner of a listed URI, by the spelling in which it is read.
func (s *resourceSet) listedBy(uri string) (rank int, listed bool) {
	sent, _ := s.spelled.of(uri)
	rank, listed = s.byURI[sent]
	return rank, listed
}
