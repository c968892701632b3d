package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// wheel writes the wheel of a platform. Its only script is the program itself, which starts without
// Python.
func wheel(file string, o *options, p platform, version string, program []byte) error {
	terms, err := licenseText()
	if err != nil {
		return err
	}
	info := "mcpedge-" + version + ".dist-info/"
	entries := []entry{
		{name: "mcpedge-" + version + ".data/scripts/" + p.program(), text: program, executable: true},
		{name: info + "licenses/LICENSE", text: terms},
		{name: info + "METADATA", text: metadata(version)},
		{name: info + "WHEEL", text: wheelText(p)},
	}
	entries = append(entries, entry{name: info + "RECORD", text: record(entries, info+"RECORD")})
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	w := zip.NewWriter(out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: o.time}
		h.SetMode(fs.FileMode(e.mode()))
		part, created := w.CreateHeader(h)
		if err = errors.Join(err, created); err == nil {
			_, err = part.Write(e.text)
		}
	}
	return errors.Join(err, w.Close(), out.Close())
}

func metadata(version string) []byte {
	return fmt.Appendf(nil, `Metadata-Version: 2.4
Name: mcpedge
Version: %s
Summary: %s
License-Expression: %s
License-File: LICENSE
Keywords: mcp,model-context-protocol,grpc,gateway
Requires-Python: >=3.8
Project-URL: Source, %s
Description-Content-Type: text/markdown

%s`, version, description, license, home, readme)
}

func wheelText(p platform) []byte {
	var b strings.Builder
	b.WriteString("Wheel-Version: 1.0\nGenerator: mcpedge packages\nRoot-Is-Purelib: false\n")
	for _, tag := range p.wheel {
		fmt.Fprintf(&b, "Tag: py3-none-%s\n", tag)
	}
	return []byte(b.String())
}

// record returns the RECORD of a wheel: its files with their hashes, except for itself.
func record(entries []entry, self string) []byte {
	var b strings.Builder
	for _, e := range entries {
		sum := sha256.Sum256(e.text)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.text))
	}
	fmt.Fprintf(&b, "%s,,\n", self)
	return []byte(b.String())
}

// licenseText reads the license of the project. The working directory must be the repository.
func licenseText() ([]byte, error) {
	for _, dir := range []string{".", "..", "../.."} {
		if text, err := os.ReadFile(filepath.Join(dir, "LICENSE")); err == nil {
			return text, nil
		}
	}
	return nil, errors.New("LICENSE is not here: run this in the repository")
}
