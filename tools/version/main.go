// Command version prints the version of the repository's packages, and fails if two of them differ.
// With an argument it sets the version of all of them. Run it in the root of the repository.
//
//	version
//	version 0.2.0
package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// semantic matches the semantic versions that all registries accept: final ones, and prereleases
// that PyPI knows.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(alpha|beta|rc)\.(0|[1-9]\d*))?$`)

// place is a file that contains the version, as the first group of each match of its pattern.
type place struct {
	file    string
	pattern *regexp.Regexp
}

const (
	dependency = `<artifactId>mcpedge-capability</artifactId>\s*<version>([^<]*)</version>`
	crate      = `name = "mcpedge-capability(?:-macros)?"\nversion = "([^"]*)"`
	npmPackage = `"name": "@mcpedge/capability",\n\s*"version": "([^"]*)"`
)

var places = []place{
	{"deploy/chart/Chart.yaml", regexp.MustCompile(`(?m)^(?:version|appVersion): (\S+)$`)},
	{"docs/backends/java.md", regexp.MustCompile(dependency)},
	{"docs/install.md", regexp.MustCompile(`(?:mcpedge_|v|-contract-|mcpedge:|--version )(\d+\.\d+\.\d+(?:-\w+\.\d+)?)`)},
	{"examples/java/pom.xml", regexp.MustCompile(dependency)},
	{"examples/rust/Cargo.lock", regexp.MustCompile(crate)},
	{"examples/spring/pom.xml", regexp.MustCompile(dependency)},
	{"examples/typescript/package-lock.json", regexp.MustCompile(npmPackage)},
	{"sdk/java/pom.xml", regexp.MustCompile(dependency)},
	{"sdk/python/pyproject.toml", regexp.MustCompile(`(?m)^version = "([^"]*)"$`)},
	{"sdk/rust/Cargo.lock", regexp.MustCompile(crate)},
	{"sdk/rust/Cargo.toml", regexp.MustCompile(crate)},
	{"sdk/rust/Cargo.toml", regexp.MustCompile(`mcpedge-capability-macros = .*version = "=([^"]*)"`)},
	{"sdk/rust/macros/Cargo.toml", regexp.MustCompile(crate)},
	{"sdk/typescript/package-lock.json", regexp.MustCompile(npmPackage)},
	{"sdk/typescript/package.json", regexp.MustCompile(npmPackage)},
	{"sdk/typescript/src/version.ts", regexp.MustCompile(`(?m)^export const version = "([^"]*)";$`)},
	{"tests/suites/kubernetes/images_test.go", regexp.MustCompile(`edgeVersion\s+= "([^"]*)"`)},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "version:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch len(args) {
	case 0:
		version, err := written()
		if err == nil {
			fmt.Println(version)
		}
		return err
	case 1:
		return set(args[0])
	}
	return errors.New("usage: version [VERSION]")
}

// written returns the version of all places. If they differ, the error names each.
func written() (string, error) {
	have := map[string][]string{} // files, by version
	for _, p := range places {
		text, matches, err := p.read()
		if err != nil {
			return "", err
		}
		for _, m := range matches {
			version := text[m[2]:m[3]]
			if files := have[version]; !slices.Contains(files, p.file) {
				have[version] = append(files, p.file)
			}
		}
	}
	var version string
	var all []string
	for v, files := range have {
		version = v
		all = append(all, fmt.Sprintf("%s in %s", v, strings.Join(files, ", ")))
	}
	if len(all) != 1 {
		slices.Sort(all)
		return "", fmt.Errorf("there are several versions: %s; give them one with: make version VERSION=1.2.3", strings.Join(all, "; "))
	}
	return version, nil
}

// set writes a version into all places.
func set(version string) error {
	if !semantic.MatchString(version) {
		return fmt.Errorf("%q is no version such as 1.2.3, 1.2.3-alpha.1, 1.2.3-beta.1 or 1.2.3-rc.1", version)
	}
	for _, p := range places {
		text, matches, err := p.read()
		if err != nil {
			return err
		}
		for _, m := range slices.Backward(matches) {
			text = text[:m[2]] + version + text[m[3]:]
		}
		if err := os.WriteFile(p.file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// read returns the file's text and the matches of its pattern, of which there must be at least one.
func (p place) read() (text string, matches [][]int, err error) {
	raw, err := os.ReadFile(p.file)
	if err != nil {
		return "", nil, err
	}
	matches = p.pattern.FindAllSubmatchIndex(raw, -1)
	if len(matches) == 0 {
		return "", nil, fmt.Errorf("%s has no version where %s should find it", p.file, p.pattern)
	}
	return string(raw), matches, nil
}
