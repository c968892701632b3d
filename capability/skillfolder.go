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

// The limits of a SkillFolder.
const (
	// MaxSkillEntries is the maximum number of files and directories.
	MaxSkillEntries = 10_000
	// MaxSkillFileBytes is the maximum size of a file, so that it fits into a message. A skill
	// should have at most 16 MiB and 512 files, because clients may reject larger skills.
	MaxSkillFileBytes = 15 << 20
)

const skillFile = "SKILL.md"

// SkillFolder serves the skills of a file system. Each directory with a SKILL.md is a skill, at any
// depth, with all files below it. Names with a leading dot and links are ignored. Each request sees
// the current files; digests are cached by size and time of modification. It is safe for concurrent
// use.
type SkillFolder struct {
	fsys   fs.FS
	prefix string
	log    *slog.Logger

	mu      sync.Mutex
	digests map[string]fileDigest // by file name
}

var _ DirectoryProvider = (*SkillFolder)(nil)

type fileDigest struct {
	size     int64
	modified time.Time
	sum      [sha256.Size]byte
}

// NewSkills serves fsys below a prefix of URIs, such as "skill://" or "skill://acme/". Pass the
// result to Server.Provide with the same prefix. log gets a warning for each skill that becomes
// invalid later and is left out; nil uses slog.Default.
//
// NewSkills returns an error if fsys cannot be read, if it has more than MaxSkillEntries entries,
// or if a skill is invalid. A SKILL.md must begin with YAML between two lines of ---, with a
// description and with the name of its directory.
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

// scan returns the directories with a SKILL.md, and the files in and below them, both in lexical
// order.
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

// belongs reports whether a file is in or below one of the directories.
func belongs(name string, dirs []string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// URI returns the URI of a file from its name in the file system.
func (f *SkillFolder) URI(name string) string {
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return f.prefix + strings.Join(segments, "/")
}

// name returns the file name of a URI, or "." if it has none.
func (f *SkillFolder) name(uri string) string {
	rest, ok := strings.CutPrefix(uri, f.prefix)
	name, err := url.PathUnescape(rest)
	if !ok || err != nil || !fs.ValidPath(name) || f.URI(name) != uri || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return "."
	}
	return name
}

// read returns the contents of a file that belongs to a skill.
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
		return nil, Errorf(FailedPrecondition, "%s has %d bytes; the limit is %d", name, info.Size(), MaxSkillFileBytes)
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

// digest describes a file. It reads the file only if it has changed.
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

// skill describes the skill of a directory. files holds the files of all skills.
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

// frontMatter returns the YAML at the head of a SKILL.md as a JSON object, and its description.
func frontMatter(data []byte, name string) (front []byte, description string, err error) {
	text := bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	head, _, closed := bytes.Cut(rest, []byte("\n---"))
	if !ok || !closed {
		return nil, "", errors.New("does not begin with YAML between two lines of ---")
	}
	var members map[string]any
	if err := yaml.Unmarshal(head, &members); err != nil {
		return nil, "", fmt.Errorf("has front matter that is not a YAML object: %w", err)
	}
	if got, _ := members["name"].(string); got != name {
		return nil, "", fmt.Errorf("has the name %q: it must be that of its directory, %q", got, name)
	}
	if description, _ = members["description"].(string); description == "" {
		return nil, "", errors.New("has no description; add one, as a string")
	}
	if front, err = json.Marshal(members); err != nil {
		return nil, "", fmt.Errorf("has front matter that cannot be encoded as JSON: %w", err)
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
			f.log.Warn("an invalid skill is not served", "error", err)
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

// List implements ResourceProvider. It returns all files of all skills.
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

// skillTypes maps the extensions of common files in skills to MIME types, independent of the
// machine.
var skillTypes = map[string]string{
	".md": "text/markdown", ".txt": "text/plain", ".html": "text/html", ".css": "text/css", ".csv": "text/csv",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".xml": "application/xml",
	".py": "text/x-python", ".sh": "application/x-sh", ".js": "text/javascript", ".ts": "text/typescript",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".svg": "image/svg+xml", ".pdf": "application/pdf",
}

// Read implements ResourceProvider. It reads files of skills only.
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
		return nil, fs.ErrNotExist // a file, or absent
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
