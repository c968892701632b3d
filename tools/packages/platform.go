package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// platform is a platform of releases, with its names in each registry.
type platform struct {
	os, arch       string // Go
	npmOS, npmArch string
	wheel          []string // tags; the program is static, so it runs with every C library
}

// platforms are the platforms of all packages.
var platforms = []platform{
	{"linux", "amd64", "linux", "x64", []string{"manylinux_2_17_x86_64", "musllinux_1_1_x86_64"}},
	{"linux", "arm64", "linux", "arm64", []string{"manylinux_2_17_aarch64", "musllinux_1_1_aarch64"}},
	{"darwin", "amd64", "darwin", "x64", []string{"macosx_12_0_x86_64"}},
	{"darwin", "arm64", "darwin", "arm64", []string{"macosx_12_0_arm64"}},
	{"windows", "amd64", "win32", "x64", []string{"win_amd64"}},
	{"windows", "arm64", "win32", "arm64", []string{"win_arm64"}},
}

func platformOf(os, arch string) (platform, error) {
	i := slices.IndexFunc(platforms, func(p platform) bool { return p.os == os && p.arch == arch })
	if i < 0 {
		return platform{}, fmt.Errorf("there are no packages for -os %q -arch %q: add its names to platforms", os, arch)
	}
	return platforms[i], nil
}

// program returns the file name of the program on the platform.
func (p platform) program() string {
	if p.os == "windows" {
		return "mcpedge.exe"
	}
	return "mcpedge"
}

var semantic = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(alpha|beta|rc|dev)\.(\d+))?$`)

// pythonVersion converts a semantic version to the form of Python packages (PEP 440).
func pythonVersion(version string) (string, error) {
	m := semantic.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("-version %q has no form that PyPI knows: want 1.2.3, or that with -alpha.N, -beta.N, -rc.N or -dev.N", version)
	}
	if m[2] == "" {
		return m[1], nil
	}
	return m[1] + map[string]string{"alpha": "a", "beta": "b", "rc": "rc", "dev": ".dev"}[m[2]] + m[3], nil
}

// wheelFile returns the file name of a platform's wheel, which contains its tags.
func wheelFile(version string, p platform) string {
	return fmt.Sprintf("mcpedge-%s-py3-none-%s.whl", version, strings.Join(p.wheel, "."))
}
