package engine

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// settings are the container settings of an image, named as in an image's configuration.
type settings struct {
	Env        []string            `json:",omitempty"`
	User       string              `json:",omitempty"`
	WorkingDir string              `json:",omitempty"`
	Entrypoint []string            `json:",omitempty"`
	Cmd        []string            `json:",omitempty"`
	StopSignal string              `json:",omitempty"`
	Volumes    map[string]struct{} `json:",omitempty"`
}

// load creates an image of one layer with docker load, because docker import sets the platform of
// the machine.
func (e *Engine) load(t testing.TB, name, platform string, fill func(*rootfs), s settings) {
	t.Helper()
	layer, err := os.CreateTemp(e.Dir, "layer-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(layer.Close(), os.Remove(layer.Name())) }()
	sum := sha256.New()
	if err := write(io.MultiWriter(layer, sum), fill); err != nil {
		t.Fatalf("the substitute %s: %v", name, err)
	}
	system, machine, _ := strings.Cut(platform, "/")
	config, err := json.Marshal(map[string]any{
		"os": system, "architecture": machine, "config": s,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sum.Sum(nil))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := json.Marshal([]any{
		map[string]any{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := e.Command(t.Context(), "load", "--quiet")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { sent <- archive(in, config, manifest, layer) }()
	if _, err = e.output(cmd); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatalf("the substitute %s: %v", name, err)
	}
}

// archive writes the input of docker load, and closes to.
func archive(to io.WriteCloser, config, manifest []byte, layer *os.File) error {
	size, err := layer.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = layer.Seek(0, io.SeekStart)
	}
	w := &rootfs{tar: tar.NewWriter(to), has: map[string]bool{}, fail: err}
	w.text("config.json", string(config))
	w.text("manifest.json", string(manifest))
	w.add(&tar.Header{Typeflag: tar.TypeReg, Name: "layer.tar", Mode: 0o644, Size: size}, layer)
	return errors.Join(w.fail, w.tar.Close(), to.Close())
}
