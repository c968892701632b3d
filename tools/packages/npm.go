package main

import (
	"archive/tar"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"strings"
)

const (
	launcherName = "mcpedge"
	description  = "MCP Edge: the Model Context Protocol in front, gRPC services behind"
	home         = "https://github.com/mcpedge/mcpedge"
	license      = "Apache-2.0"
)

var (
	//go:embed launcher.js
	launcher []byte
	//go:embed README.md
	readme []byte
)

// npmName returns the name of the platform's npm package.
func (p platform) npmName() string { return "@mcpedge/edge-" + p.npmOS + "-" + p.npmArch }

// npmFile returns the name that npm pack gives to a package's file, with a prefix that
// distinguishes it from the chart's.
func npmFile(name, version string) string {
	return "npm-" + strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + version + ".tgz"
}

// manifest is a package.json.
type manifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Homepage     string            `json:"homepage"`
	Repository   map[string]string `json:"repository"`
	Keywords     []string          `json:"keywords,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
}

func newManifest(name, version string) *manifest {
	return &manifest{
		Name: name, Version: version, Description: description, License: license, Homepage: home,
		Repository: map[string]string{"type": "git", "url": "git+" + home + ".git"},
	}
}

// npmPlatform writes the npm package with a platform's program. npm installs it on that platform
// only.
func npmPlatform(file string, o *options, p platform, program []byte) error {
	m := newManifest(p.npmName(), o.version)
	m.Description += ", the program for " + p.npmOS + " on " + p.npmArch
	m.OS, m.CPU, m.PreferUnplug = []string{p.npmOS}, []string{p.npmArch}, true
	return npmPackage(file, o, m, entry{name: "bin/" + p.program(), text: program, executable: true})
}

// npmLauncher writes the npm package that users install. It has the platforms' packages as optional
// dependencies, of which npm installs the matching one.
func npmLauncher(file string, o *options) error {
	m := newManifest(launcherName, o.version)
	m.Keywords = []string{"mcp", "model-context-protocol", "grpc", "gateway", "mcp-server"}
	m.Bin = map[string]string{"mcpedge": "bin/mcpedge.js"}
	m.Engines = map[string]string{"node": ">=18"}
	m.Optional = map[string]string{}
	for _, p := range platforms {
		m.Optional[p.npmName()] = o.version
	}
	return npmPackage(file, o, m, entry{name: "bin/mcpedge.js", text: launcher, executable: true})
}

func npmPackage(file string, o *options, m *manifest, content entry) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	terms, err := licenseText()
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(out)
	w := tar.NewWriter(zip)
	for _, e := range []entry{{name: "package.json", text: append(text, '\n')}, {name: "README.md", text: readme}, {name: "LICENSE", text: terms}, content} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: "package/" + e.name, Mode: e.mode(), Size: int64(len(e.text)), ModTime: o.time}))
		if err == nil {
			_, err = w.Write(e.text)
		}
	}
	return errors.Join(err, w.Close(), zip.Close(), out.Close())
}
