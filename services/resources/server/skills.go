package server

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/services/internal/folder"
)

// skillPrefix is the prefix of the URIs of the skills.
const skillPrefix = "skill://"

// skills serves the skills of a directory, with notifications of changes. Every change of a file
// changes its digest, and so the list.
type skills struct {
	*capability.SkillFolder
	folder *folder.Folder
	log    *slog.Logger
}

var (
	_ capability.ResourceWatcher   = (*skills)(nil)
	_ capability.DirectoryProvider = (*skills)(nil)
)

func addSkills(s *capability.Server, o Options) error {
	// The root stays open as long as the service runs. Links cannot reach files outside the
	// directory.
	root, err := os.OpenRoot(o.Skills)
	if err != nil {
		return fmt.Errorf("skills cannot be served: %w", err)
	}
	found, err := capability.NewSkills(root.FS(), skillPrefix, o.Logger)
	if err != nil {
		return fmt.Errorf("skills of %q cannot be served: %w", o.Skills, err)
	}
	watched, err := folder.New(o.Skills, folder.Options{})
	if err != nil {
		return fmt.Errorf("skills of %q cannot be served: %w", o.Skills, err)
	}
	s.Provide(skillPrefix, &skills{found, watched, o.Logger})
	return nil
}

// Watch implements capability.ResourceWatcher.
func (k *skills) Watch(updated func(uri string), listChanged func()) (stop func(), err error) {
	return k.folder.Watch(k.log, func(c folder.Change) {
		listChanged()
		for _, name := range c.Updated {
			updated(k.URI(name))
		}
	})
}
