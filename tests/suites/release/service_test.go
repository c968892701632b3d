//go:build release && linux

package release

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// service: systemd starts the service of the deb as locked down as its unit says, it answers, and it drains when it is stopped.
func (d *dist) service(t *testing.T) {
	name, deb := d.one(t, "mcpedge_", "_"+here+".deb")
	d.needLayer(t, name)
	d.need(t, name, "dpkg", "script", "nsenter", "pivot_root", "/lib/systemd/systemd")
	addrs, err := process.FreeAddrs(2)
	must(t, err)
	system, err := filepath.Abs("system.sh")
	must(t, err)
	dir := t.TempDir()
	layer := filepath.Join(dir, "layer")
	must(t, os.Mkdir(layer, 0o700))
	boot := fmt.Sprintf("unshare --mount --propagation private --pid --fork --kill-child --cgroup --ipc --uts sh %s %s %s %s %s", system, layer, deb, addrs[0], addrs[1])
	p, err := process.Start("systemd", "script", filepath.Join(dir, "console.log"), "--quiet", "--flush", "--return", "--command", boot, "/dev/null")
	must(t, err)
	t.Cleanup(func() { _ = p.Kill() })
	must(t, process.AwaitOK(t.Context(), "http://"+addrs[1]+"/readyz", p))

	edge, init := 0, 0
	await.Until(t, "the service has a process", func() bool {
		edge, init = served(addrs[1])
		return edge != 0
	})
	t.Cleanup(func() { _ = syscall.Kill(init, syscall.SIGKILL) }) // and with it all that it has started
	has := status(t, edge)
	for field, want := range map[string]string{"CapEff": "0000000000000000", "CapBnd": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"} {
		if has[field] != want {
			t.Errorf("the service's process has %s %q, want %q", field, has[field], want)
		}
	}
	if strings.HasPrefix(has["Uid"], "0") {
		t.Errorf("the service runs as %s", has["Uid"])
	}
	_, archive := d.archive(t, "linux", here)
	if got := run(t, "", nil, program(t, archive), "call", "http://"+addrs[0]+"/mcp", "calculator_arithmetic", `{"expression":"6*7"}`); got != "42\n" {
		t.Errorf("mcpedge call says %q, want 42", got)
	}
	systemctl := func(args ...string) string {
		t.Helper()
		return run(t, "", nil, "nsenter", append([]string{"--target", strconv.Itoa(init), "--mount", "--pid", "--uts", "--ipc", "--cgroup", "systemctl"}, args...)...)
	}
	systemctl("stop", "mcpedge.service")
	if got := systemctl("show", "--property=Result,ExecMainStatus,ActiveState", "mcpedge.service"); !strings.Contains(got, "Result=success") ||
		!strings.Contains(got, "ExecMainStatus=0\n") || !strings.Contains(got, "ActiveState=inactive") {
		t.Errorf("stopped, the service has\n%s", got)
	}
	d.say(name, "started by systemd, answered, stopped")
}

// served finds the process of a service whose settings name an address, and the systemd that has started it; 0: there is none.
func served(admin string) (edge, init int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range all {
		command, _ := os.ReadFile(proc + "/cmdline")
		settings, _ := os.ReadFile(proc + "/root/etc/mcpedge/edge.yaml")
		if strings.HasPrefix(string(command), "/usr/bin/mcpedge\x00serve\x00") && strings.Contains(string(settings), admin) {
			edge, _ = strconv.Atoi(filepath.Base(proc))
			text, _ := os.ReadFile(proc + "/status")
			init, _ = strconv.Atoi(fields(string(text))["PPid"])
		}
	}
	return edge, init
}

// status is what the kernel says of a process.
func status(t *testing.T, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	return fields(string(text))
}

func fields(text string) map[string]string {
	has := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		has[name] = strings.Join(strings.Fields(value), " ")
	}
	return has
}
