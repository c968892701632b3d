package capability

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
)

// The bounds of a SkillFolder.
const (
	// MaxSkillEntries bounds its files and directories.
	MaxSkillEntries = 10_000
	// MaxSkillFileBytes bounds one file, in bytes, so that it fits in a message. All files of one skill should not have more
	// than 16 MiB, nor be more than 512: clients need not take larger skills.
	MaxSkillFileBytes = 15 << 20
)

const skillFile = "SKILL.md"

// SkillFolder serves the skills of a file system: each directory with a SKILL.md is one, however deep, and all files below it
// are its own. What a name with a leading dot has, is left out, and so are links. It reads anew what changed whenever it is
// asked, and remembers digests by size and time. Safe for concurrent use.
type SkillFolder struct {
	fsys   fs.FS
	prefix string
	log    *slog.Logger

	mu      sync.Mutex
	digests map[string]fileDigest // by name
}

var _ DirectoryProvider = (*SkillFolder)(nil)

type fileDigest struct {
	size     int64
	modified time.Time
	sum      [sha256.Size]byte
}

// NewSkills serves fsys under a prefix of URIs, such as "skill://" or "skill://acme/": hand the result to Server.Provide with the
// same prefix. It fails when fsys cannot be read, when it has more than MaxSkillEntries entries, and when a skill in it is
// none: SKILL.md has to begin with YAML between two lines of ---, with a description and with the directory as its name. A
// skill that is spoiled later is left out, and log told; nil: slog.Default.
func NewSkills(fsys fs.FS, prefix string, log *slog.Logger) (*SkillFolder, error) {
	if log == nil {
		log = slog.Default()
	}
	f := &SkillFolder{fsys: fsys, prefix: prefix, log: log, digests: map[string]fileDigest{}}
	if !strings.HasSuffix(prefix, "/") {
		return nil, fmt.Errorf("prefix %q: it must end with a slash, as skill:// does", prefix)
	}
	skills, files, err := f.scan()
	if err != nil {
		return nil, err
	}
	for _, dir := range skills {
		if _, err := f.skill(dir, files); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// scan finds the directories with a SKILL.md, and the files in and below them, both in lexical order.
func (f *SkillFolder) scan() (skills, files []string, err error) {
	var all []string
	seen := 0
	err = fs.WalkDir(f.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && (name == "." || !errors.Is(err, fs.ErrNotExist)):
			return err
		case err != nil || name == ".":
			return nil
		case strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		}
		if seen++; seen > MaxSkillEntries {
			return fmt.Errorf("the skills have more than %d files and directories; serve fewer", MaxSkillEntries)
		}
		if !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			return nil
		}
		all = append(all, name)
		if dir := path.Dir(name); d.Name() == skillFile && dir != "." {
			skills = append(skills, dir)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	within := make(map[string]bool, len(skills))
	for _, dir := range skills {
		within[dir] = true
	}
	for _, name := range all {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if within[dir] {
				files = append(files, name)
				break
			}
		}
	}
	return skills, files, nil
}

// belongs says whether a file is in or below one of the directories.
func belongs(name string, dirs []string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// URI is that of a file by its name in the file system.
func (f *SkillFolder) URI(name string) string {
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return f.prefix + strings.Join(segments, "/")
}

// name is what a URI means, or "." for none.
func (f *SkillFolder) name(uri string) string {
	rest, ok := strings.CutPrefix(uri, f.prefix)
	name, err := url.PathUnescape(rest)
	if !ok || err != nil || !fs.ValidPath(name) || f.URI(name) != uri || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return "."
	}
	return name
}

// read returns a file that belongs to a skill.
func (f *SkillFolder) read(name string) ([]byte, error) {
	info, err := fs.Stat(f.fsys, name)
	for _, impossible := range []error{fs.ErrInvalid, syscall.EINVAL, syscall.ENOTDIR, syscall.ENAMETOOLONG} {
		if errors.Is(err, impossible) { // No file can have the name.
			return nil, fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	if info.Size() > MaxSkillFileBytes {
		return nil, Errorf(FailedPrecondition, "%s has %d bytes: at most %d can be sent", name, info.Size(), MaxSkillFileBytes)
	}
	data, err := fs.ReadFile(f.fsys, name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.digests[name] = fileDigest{size: int64(len(data)), modified: info.ModTime(), sum: sha256.Sum256(data)}
	f.mu.Unlock()
	return data, nil
}

// digest describes a file. It reads it when it is another than before.
func (f *SkillFolder) digest(name string) (*SkillFile, error) {
	info, err := fs.Stat(f.fsys, name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	known, ok := f.digests[name]
	f.mu.Unlock()
	if !ok || known.size != info.Size() || !known.modified.Equal(info.ModTime()) {
		data, err := f.read(name)
		if err != nil {
			return nil, err
		}
		known = fileDigest{size: int64(len(data)), sum: sha256.Sum256(data)}
	}
	return &SkillFile{Uri: f.URI(name), Sha256: known.sum[:], Size: known.size}, nil
}

// skill describes the skill of a directory; files are those of all skills.
func (f *SkillFolder) skill(dir string, files []string) (*Skill, error) {
	data, err := f.read(dir + "/" + skillFile)
	if err != nil {
		return nil, fmt.Errorf("skill %q: %w", dir, err)
	}
	front, _, err := frontMatter(data, path.Base(dir))
	if err != nil {
		return nil, fmt.Errorf("skill %q: SKILL.md %w", dir, err)
	}
	out := &Skill{Uri: f.URI(dir + "/" + skillFile), FrontmatterJson: string(front)}
	for _, name := range files {
		if !strings.HasPrefix(name, dir+"/") {
			continue
		}
		file, err := f.digest(name)
		if err != nil {
			return nil, fmt.Errorf("skill %q: %w", dir, err)
		}
		out.Files = append(out.Files, file)
	}
	return out, nil
}

// frontMatter is the YAML at the head of a SKILL.md as a JSON object, and its description.
func frontMatter(data []byte, name string) (front []byte, description string, err error) {
	text := bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	head, _, closed := bytes.Cut(rest, []byte("\n---"))
	if !ok || !closed {
		return nil, "", errors.New("does not begin with YAML between two lines of ---")
	}
	var members map[string]any
	if err := yaml.Unmarshal(head, &members); err != nil {
		return nil, "", fmt.Errorf("has front matter that is no object in YAML: %w", err)
	}
	if got, _ := members["name"].(string); got != name {
		return nil, "", fmt.Errorf("has the name %q: it must be that of its directory, %q", got, name)
	}
	if description, _ = members["description"].(string); description == "" {
		return nil, "", errors.New("has no description, which must be a text")
	}
	if front, err = json.Marshal(members); err != nil {
		return nil, "", fmt.Errorf("has front matter that is no JSON: %w", err)
	}
	return front, description, nil
}

// Skills implements SkillProvider.
func (f *SkillFolder) Skills(context.Context) ([]*Skill, error) {
	dirs, files, err := f.scan()
	if err != nil {
		return nil, err
	}
	var out []*Skill
	for _, dir := range dirs {
		s, err := f.skill(dir, files)
		if err != nil {
			f.log.Warn("a skill is left out", "error", err)
			continue
		}
		out = append(out, s)
	}
	return out, nil
}

// Skill implements SkillProvider.
func (f *SkillFolder) Skill(_ context.Context, _ *Call, uri string) (*Skill, error) {
	name := f.name(uri)
	dir := path.Dir(name)
	if path.Base(name) != skillFile || dir == "." {
		return nil, nil
	}
	dirs, files, err := f.scan()
	if err != nil || !slices.Contains(dirs, dir) {
		return nil, err
	}
	return f.skill(dir, files)
}

// List implements ResourceProvider: all files of all skills.
func (f *SkillFolder) List(context.Context) ([]*Resource, error) {
	_, files, err := f.scan()
	if err != nil {
		return nil, err
	}
	out := make([]*Resource, len(files))
	for i, name := range files {
		out[i] = f.resource(name)
	}
	return out, nil
}

// resource describes a file. A SKILL.md has the name and the description of its skill.
func (f *SkillFolder) resource(name string) *Resource {
	out := &Resource{Uri: f.URI(name), Name: path.Base(name), MimeType: skillTypes[path.Ext(name)]}
	if out.Name != skillFile {
		return out
	}
	if data, err := f.read(name); err == nil {
		skill := path.Base(path.Dir(name))
		if _, description, err := frontMatter(data, skill); err == nil {
			out.Name, out.Description = skill, description
		}
	}
	return out
}

// skillTypes are the MIME types of files that skills mostly have, the same on every machine.
var skillTypes = map[string]string{
	".md": "text/markdown", ".txt": "text/plain", ".html": "text/html", ".css": "text/css", ".csv": "text/csv",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".xml": "application/xml",
	".py": "text/x-python", ".sh": "application/x-sh", ".js": "text/javascript", ".ts": "text/typescript",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".svg": "image/svg+xml", ".pdf": "application/pdf",
}

// Read implements ResourceProvider: files of skills, and no other.
func (f *SkillFolder) Read(_ context.Context, _ *Call, uri string) ([]*ResourceContents, error) {
	name := f.name(uri)
	skills, _, err := f.scan()
	if err != nil {
		return nil, err
	}
	if !belongs(name, skills) {
		return nil, fs.ErrNotExist
	}
	data, err := f.read(name)
	return contentsOf(uri, skillTypes[path.Ext(name)], data, err)
}

// Directory implements DirectoryProvider.
func (f *SkillFolder) Directory(_ context.Context, _ *Call, uri string) ([]*Resource, error) {
	name := f.name(uri)
	skills, _, err := f.scan()
	if err != nil {
		return nil, err
	}
	if name == "." || !belongs(name+"/", skills) {
		return nil, fs.ErrNotExist
	}
	entries, err := fs.ReadDir(f.fsys, name)
	if err != nil {
		return nil, fs.ErrNotExist // a file, or nothing
	}
	var out []*Resource
	for _, e := range entries {
		child := name + "/" + e.Name()
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			out = append(out, &Resource{Uri: f.URI(child), Name: e.Name(), MimeType: DirectoryType})
		case e.Type().IsRegular():
			out = append(out, f.resource(child))
		}
	}
	return out, nil
}
