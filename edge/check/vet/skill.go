package vet

import (
	"encoding/json"
	"fmt"
	"strings"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// Bounds of a skill that every client accepts (Skills, "Limits").
const (
	MaxSkillFiles = 512
	MaxSkillBytes = 16 << 20
)

// skillFile is the suffix of a skill's URI.
const skillFile = "/SKILL.md"

// Skill validates an entry of a list of skills (Skills, "Skill Entries"). The key is its URI.
func Skill(s *pb.Skill, note func(string)) (string, error) {
	if s == nil || s.Uri == "" {
		return "", fmt.Errorf("uri is empty: it is required")
	}
	if err := uris.Check(s.Uri); err != nil {
		return s.Uri, fmt.Errorf("uri is not a URI: %w", err)
	}
	root, ok := strings.CutSuffix(s.Uri, skillFile)
	if !ok {
		return s.Uri, fmt.Errorf("uri is not that of a SKILL.md: it must end with %s", skillFile)
	}
	members, err := Object("frontmatter_json", s.FrontmatterJson)
	if err != nil {
		return s.Uri, err
	}
	for _, member := range []string{"name", "description"} {
		var text string
		if json.Unmarshal(members[member], &text) != nil || text == "" {
			return s.Uri, fmt.Errorf("frontmatter_json has no %s: it is required, as a string", member)
		}
		if member == "name" && text != root[strings.LastIndexByte(root, '/')+1:] {
			return s.Uri, fmt.Errorf("frontmatter_json has the name %.80q: it must be the last segment of the directory's URI", text)
		}
	}
	return s.Uri, skillFiles(s, root, note)
}

// skillFiles validates the files of a skill with a directory.
func skillFiles(s *pb.Skill, root string, note func(string)) error {
	if s.Dynamic {
		if len(s.Files) > 0 {
			note(fmt.Sprintf("it is dynamic and has %d files, which are left out", len(s.Files)))
			s.Files = nil
		}
		return nil
	}
	seen, total := make(map[string]bool, len(s.Files)), int64(0)
	for i, f := range s.Files {
		switch {
		case !strings.HasPrefix(f.GetUri(), root+"/"):
			return fmt.Errorf("files[%d].uri is %.80q: it must be below the directory of SKILL.md", i, f.GetUri())
		case seen[f.Uri]:
			return fmt.Errorf("files[%d].uri is %.80q, as of one before it", i, f.Uri)
		case len(f.Sha256) != 32:
			return fmt.Errorf("files[%d].sha256 has %d bytes: it must have 32", i, len(f.Sha256))
		case f.Size < 0:
			return fmt.Errorf("files[%d].size is %d: it must not be negative", i, f.Size)
		}
		if err := uris.Check(f.Uri); err != nil {
			return fmt.Errorf("files[%d].uri %.80q is not a URI: %w", i, f.Uri, err)
		}
		seen[f.Uri] = true
		total += f.Size
	}
	if !seen[s.Uri] {
		return fmt.Errorf("files lacks SKILL.md itself: name all files, or set dynamic")
	}
	if len(s.Files) > MaxSkillFiles || total > MaxSkillBytes {
		note(fmt.Sprintf("it has %d files with %d bytes: clients need not take more than %d with %d", len(s.Files), total, MaxSkillFiles, MaxSkillBytes))
	}
	return nil
}
