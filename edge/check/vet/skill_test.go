package vet

import (
	"strings"
	"testing"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestSkill(t *testing.T) {
	sum := make([]byte, 32)
	sound := func() *pb.Skill {
		return &pb.Skill{Uri: "skill://a/b/SKILL.md", FrontmatterJson: `{"name":"b","description":"d"}`,
			Files: []*pb.SkillFile{{Uri: "skill://a/b/SKILL.md", Sha256: sum}, {Uri: "skill://a/b/c/d.md", Sha256: sum, Size: 1}}}
	}
	for name, c := range map[string]struct {
		spoil func(*pb.Skill)
		want  string // empty: sound
		notes int
	}{
		"sound":          {func(*pb.Skill) {}, "", 0},
		"dynamic":        {func(s *pb.Skill) { s.Dynamic, s.Files = true, nil }, "", 0},
		"dynamic, files": {func(s *pb.Skill) { s.Dynamic = true }, "", 1},
		"large":          {func(s *pb.Skill) { s.Files[1].Size = MaxSkillBytes + 1 }, "", 1},
		"no URI":         {func(s *pb.Skill) { s.Uri = "" }, "uri is empty", 0},
		"no SKILL.md":    {func(s *pb.Skill) { s.Uri = "skill://a/b" }, "/SKILL.md", 0},
		"relative":       {func(s *pb.Skill) { s.Uri = "a/b/SKILL.md" }, "scheme", 0},
		"front matter":   {func(s *pb.Skill) { s.FrontmatterJson = `[]` }, "frontmatter_json", 0},
		"no description": {func(s *pb.Skill) { s.FrontmatterJson = `{"name":"b"}` }, "no description", 0},
		"another name":   {func(s *pb.Skill) { s.FrontmatterJson = `{"name":"x","description":"d"}` }, "last segment", 0},
		"outside":        {func(s *pb.Skill) { s.Files[1].Uri = "skill://a/bc/d.md" }, "below the directory", 0},
		"twice":          {func(s *pb.Skill) { s.Files[1].Uri = s.Files[0].Uri }, "one before it", 0},
		"digest":         {func(s *pb.Skill) { s.Files[1].Sha256 = sum[:31] }, "31 bytes", 0},
		"size":           {func(s *pb.Skill) { s.Files[1].Size = -1 }, "negative", 0},
		"not itself":     {func(s *pb.Skill) { s.Files = s.Files[1:] }, "lacks SKILL.md", 0},
	} {
		s, notes := sound(), 0
		c.spoil(s)
		_, err := Skill(s, func(string) { notes++ })
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || notes != c.notes {
			t.Errorf("%s: %v, %d notes", name, err, notes)
		}
	}
}
