package app

import (
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// What the linker may set, with -X, where the build cannot know it: the images are built without the repository's history,
// say. Empty: what the go command has recorded.
var version, commit, date string

// unknown stands for what a build cannot know.
const unknown = "unknown"

// Build is what a program was built from. Its members are never empty: what is not known is "unknown".
type Build struct {
	// Version is that of the module: a tag, a pseudo-version, or "devel".
	Version string
	// Commit is the full hash, or as much of it as is known, with "-dirty" behind it if files were changed.
	Commit string
	// Date is when the commit was made, as RFC 3339 has it, in UTC.
	Date string
}

// Version is Build.Version of this program.
func Version() string { return ThisBuild().Version }

// ThisBuild is what this program was built from.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return buildOf(info, version, commit, date)
}

// pseudo is the end of a pseudo-version, with the time and the hash of its commit.
var pseudo = regexp.MustCompile(`[.-](\d{14})-([0-9a-f]{12})(\+dirty)?$`)

// buildOf makes a Build of what the linker has set and of what the go command has recorded.
func buildOf(info *debug.BuildInfo, version, commit, date string) Build {
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if version == "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	if commit == "" {
		if commit = set["vcs.revision"]; commit != "" && set["vcs.modified"] == "true" {
			commit += "-dirty"
		}
	}
	if date == "" {
		date = set["vcs.time"]
	}
	if p := pseudo.FindStringSubmatch(version); p != nil {
		if commit == "" {
			commit = p[2]
			if p[3] != "" {
				commit += "-dirty"
			}
		}
		if at, err := time.Parse("20060102150405", p[1]); err == nil && date == "" {
			date = at.Format(time.RFC3339)
		}
	}
	if at, err := time.Parse(time.RFC3339, date); err == nil {
		date = at.UTC().Format(time.RFC3339)
	}
	b := Build{Version: version, Commit: commit, Date: date}
	for _, s := range []*string{&b.Commit, &b.Date} {
		if strings.TrimSpace(*s) == "" {
			*s = unknown
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}
