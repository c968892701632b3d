package engine

import (
	"path/filepath"
	"runtime"
	"testing"
)

// The caller chooses the names of the base images, as in the Dockerfile and docker-compose.yml.
// This file defines their contents.

const userPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Golang loads a substitute for a golang image: this machine's toolchain, a shell, and the CAs.
func (e *Engine) Golang(t testing.TB, name string) {
	t.Helper()
	e.load(t, name, "linux/"+runtime.GOARCH, func(r *rootfs) {
		r.text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n") // otherwise HOME is /, which moves the caches of the go command
		r.text("/etc/group", "root:x:0:\n")
		r.dir("/root", 0o700)
		r.program("/bin/dash", "/bin/sh")
		r.file("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-certificates.crt")
		r.dir("/tmp", 0o777)
		r.dir("/go", 0o777)
		r.tree(goroot(t), "/usr/local/go", "test", "doc", "api")
	}, settings{Env: []string{"GOPATH=/go", "GOTOOLCHAIN=local", "PATH=/go/bin:/usr/local/go/bin:" + userPath}, WorkingDir: "/go"})
}

// Distroless loads a substitute for gcr.io/distroless/static with the tag nonroot: no program, a
// user, the CAs and time zones. A name has the platform that was loaded last.
func (e *Engine) Distroless(t testing.TB, name, platform string) {
	t.Helper()
	e.load(t, name, platform, func(r *rootfs) {
		r.text("/etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")
		r.text("/etc/group", "root:x:0:\nnonroot:x:65532:\n")
		r.file("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-certificates.crt")
		r.dir("/tmp", 0o777)
		r.dir("/home/nonroot", 0o755)
	}, settings{
		Env:  []string{"PATH=" + userPath, "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		User: "65532", WorkingDir: "/home/nonroot",
	})
}

// Redis loads a substitute for a redis image: this machine's server and client. As in that image,
// clients need no password, which Redis's default, protected mode, allows on loopback only.
func (e *Engine) Redis(t testing.TB, name string) {
	t.Helper()
	e.load(t, name, "linux/"+runtime.GOARCH, func(r *rootfs) {
		r.program("/bin/dash", "/bin/sh")
		r.program("redis-server", "/usr/bin/redis-server")
		r.program("redis-cli", "/usr/local/bin/redis-cli")
		r.script("/usr/local/bin/redis-server", "#!/bin/sh\nexec /usr/bin/redis-server \"$@\" --protected-mode no\n")
		r.dir("/data", 0o777)
		r.dir("/tmp", 0o777)
	}, settings{
		Env: []string{"PATH=" + userPath}, Volumes: map[string]struct{}{"/data": {}}, WorkingDir: "/data", Cmd: []string{"redis-server"},
	})
}

// HAProxy loads a substitute for an haproxy image: this machine's haproxy, and wget, which Alpine
// also has.
func (e *Engine) HAProxy(t testing.TB, name string) {
	t.Helper()
	e.load(t, name, "linux/"+runtime.GOARCH, func(r *rootfs) {
		r.program("haproxy", "/usr/local/sbin/haproxy")
		r.program("wget", "/usr/bin/wget")
		r.text("/etc/passwd", "root:x:0:0:root:/:/sbin/nologin\nhaproxy:x:99:99:haproxy:/:/sbin/nologin\n")
		r.text("/etc/group", "root:x:0:\nhaproxy:x:99:\n")
		r.dir("/usr/local/etc/haproxy", 0o755)
		r.dir("/tmp", 0o777)
	}, settings{
		Env: []string{"PATH=" + userPath}, User: "haproxy", StopSignal: "SIGUSR1",
		Cmd: []string{"haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"},
	})
}

func goroot(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(goEnv(t, "GOROOT"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Program loads an image with one static program of this machine, which runs as user 65532.
func (e *Engine) Program(t testing.TB, name, program string) {
	t.Helper()
	e.load(t, name, "linux/"+runtime.GOARCH, func(r *rootfs) {
		r.text("/etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")
		r.dir("/tmp", 0o777)
		r.program(program, "/program")
	}, settings{User: "65532", WorkingDir: "/", Entrypoint: []string{"/program"}})
}
