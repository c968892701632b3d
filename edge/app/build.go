package app

import (
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// Values that the linker may set with -X if the build cannot determine them, for example because
// images are built without the repository's history. Empty uses the values that the go command has
// recorded.
var version, commit, date string

// unknown is the value of members of Build that the build cannot determine.
const unknown = "unknown"

// Build is the source of a program. Its members are never empty: unknown ones are "unknown".
type Build struct {
	// Version is the version of the module: a tag, a pseudo-version, or "devel".
	Version string
	// Commit is the full hash, or the known part of it, followed by "-dirty" if files were changed.
	Commit string
	// Date is the date of the commit, as in RFC 3339, in UTC.
	Date string
}

// Version returns Build.Version of this program.
func Version() string { return ThisBuild().Version }

// ThisBuild returns the Build of this program.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return buildOf(info, version, commit, date)
}

// pseudo matches the end of a pseudo-version, with the time and the hash of its commit.
var pseudo = regexp.MustCompile(`[.-](\d{14})-([0-9a-f]{12})(\+dirty)?$`)

// buildOf returns the Build for the values of the linker and of the go command.
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
