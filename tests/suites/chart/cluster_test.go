package chart

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// cluster gives a pod what it mounts and refers to: the objects of its release, and Secrets that whoever installed it made.
type cluster struct {
	// files of ConfigMaps and Secrets, by the object's name.
	configMaps, secrets map[string]map[string]string
}

// newCluster has the Secrets that the scenarios name, and the release's own objects.
func newCluster(t *testing.T, redis string, all objects) *cluster {
	t.Helper()
	ca := authority.New(t, "chart")
	pair := ca.Server(t)
	certificate := map[string]string{"tls.crt": string(pair.Cert), "tls.key": string(pair.Key), "ca.crt": string(ca.PEM)}
	seal := make([]byte, 32)
	_, _ = rand.Read(seal)
	state := base64.StdEncoding.EncodeToString(seal)
	token := rand.Text()
	c := &cluster{configMaps: map[string]map[string]string{}, secrets: map[string]map[string]string{
		"redis":          {"url": redis},
		"state":          {"key": state, "state-key": state},
		"keys":           {"keys.yaml": fmt.Sprintf("- {name: caller, sha256: %x, scopes: [\"mcp:read\"]}\n", sha256.Sum256([]byte(token)))},
		"caller":         {"token": token},
		"mcp-tls":        certificate,
		"my-mcpedge-tls": certificate, // cert-manager's
		"admin-tls":      certificate,
		"more":           {"MCPEDGE_LISTS_PAGE_SIZE": "500"},
	}}
	for _, one := range every[*core.ConfigMap](all) {
		c.configMaps[one.Name] = one.Data
	}
	for _, one := range every[*core.Secret](all) {
		c.secrets[one.Name] = one.StringData
	}
	return c
}

// container is a pod's first one as a process of this machine: its files are elsewhere.
type container struct {
	args []string
	env  map[string]string
	// moved replaces the paths of mounts by those of the folders that stand for them.
	moved *strings.Replacer
}

// start makes the folders and the environment of a pod's first container.
func (c *cluster) start(t *testing.T, p pod) *container {
	t.Helper()
	own := p.spec.Containers[0]
	var moves []string
	dirs := map[string]map[string]string{}
	for _, mount := range own.VolumeMounts {
		dir := t.TempDir()
		moves = append(moves, mount.MountPath, dir)
		dirs[dir] = c.volume(t, p, mount.Name)
	}
	k := &container{env: map[string]string{}, moved: strings.NewReplacer(moves...)}
	for dir, files := range dirs {
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(k.moved.Replace(text)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, from := range own.EnvFrom {
		for key, value := range c.secret(t, from.SecretRef.Name) {
			k.env[key] = value
		}
	}
	for _, e := range own.Env {
		switch {
		case e.ValueFrom == nil:
			k.env[e.Name] = expand(e.Value, k.env)
		case e.ValueFrom.FieldRef != nil:
			k.env[e.Name] = e.ValueFrom.FieldRef.FieldPath
		default:
			ref := e.ValueFrom.SecretKeyRef
			value, ok := c.secret(t, ref.Name)[ref.Key]
			if !ok {
				t.Fatalf("%s: the Secret %s has no %s", e.Name, ref.Name, ref.Key)
			}
			k.env[e.Name] = value
		}
	}
	for _, arg := range own.Args {
		k.args = append(k.args, k.moved.Replace(arg))
	}
	return k
}

// expand replaces $(NAME), as Kubernetes does.
func expand(value string, env map[string]string) string {
	for name, text := range env {
		value = strings.ReplaceAll(value, "$("+name+")", text)
	}
	return value
}

func (c *cluster) secret(t *testing.T, name string) map[string]string {
	t.Helper()
	if c.secrets[name] == nil {
		t.Fatalf("there is no Secret %q", name)
	}
	return c.secrets[name]
}

// volume are the files of a pod's volume.
func (c *cluster) volume(t *testing.T, p pod, name string) map[string]string {
	t.Helper()
	for _, v := range p.spec.Volumes {
		switch {
		case v.Name != name:
		case v.Secret != nil:
			return c.secret(t, v.Secret.SecretName)
		case v.ConfigMap != nil:
			if c.configMaps[v.ConfigMap.Name] == nil {
				t.Fatalf("there is no ConfigMap %q", v.ConfigMap.Name)
			}
			return c.configMaps[v.ConfigMap.Name]
		case v.EmptyDir != nil:
			return nil
		}
	}
	t.Fatalf("%s has no volume %s", p.name, name)
	return nil
}
