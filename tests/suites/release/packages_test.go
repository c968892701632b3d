//go:build release && linux

package release

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// layer runs a script as root of this machine's files, which it changes in a layer of its own: what it installs is gone when it ends.
// The words are its arguments. It keeps its process id, and the network is this machine's.
func layer(script string, words ...string) []string {
	const enter = `
layer=$1; shift
mount -t tmpfs tmpfs "$layer"
mkdir "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
mount --rbind /dev "$layer/root/dev"
mount --rbind /proc "$layer/root/proc"
# The packages are elsewhere than on the root.
mkdir -p "$layer/root/packages"
mount --bind "$1" "$layer/root/packages"; shift
exec chroot "$layer/root" "$@"`
	return append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-euc", enter, "enter", words[0], words[1], "sh", "-euc", script, "install"}, words[2:]...)
}

// needLayer skips a part on a machine that cannot have one.
func (d *dist) needLayer(t *testing.T, artefact string) {
	t.Helper()
	d.need(t, artefact, "unshare", "setpriv", "chroot", "mount")
	if os.Geteuid() != 0 {
		d.say(artefact, "left out: takes root")
		t.Skip("left out: a layer over this machine's files takes root")
	}
}

// installed says what a package has to have left: the user, the conffile that it alone reads, the unit; and an edge that is no root's.
const installed = `
test "$(stat -c %U:%G:%a /etc/mcpedge/edge.yaml)" = root:mcpedge:640
test -f /usr/lib/systemd/system/mcpedge.service
test "$(getent passwd mcpedge | cut -d: -f7)" = /usr/sbin/nologin
mcpedge check --config /etc/mcpedge/edge.yaml >/dev/null
`

// serve starts the edge as its unit does.
const serve = `exec setpriv --reuid mcpedge --regid mcpedge --clear-groups /usr/bin/mcpedge serve --config /etc/mcpedge/edge.yaml "$@"`

// deb: dpkg installs it, it serves as its user, a changed conffile stays, and a purge leaves nothing.
func (d *dist) deb(t *testing.T) {
	name, file := d.one(t, "mcpedge_", "_"+here+".deb")
	d.needLayer(t, name)
	d.need(t, name, "dpkg")
	install := "dpkg --install /packages/" + filepath.Base(file) + " >&2\n"
	kept := install + "echo '# changed' >>/etc/mcpedge/edge.yaml\n" + install + "grep -q '# changed' /etc/mcpedge/edge.yaml\n"
	purge := "dpkg --purge mcpedge >&2\ntest ! -e /usr/bin/mcpedge\ntest ! -e /etc/mcpedge/edge.yaml\ntest ! -e /usr/lib/systemd/system/mcpedge.service\n"
	command := layer(kept+purge, t.TempDir(), filepath.Dir(file))
	run(t, "", nil, command[0], command[1:]...)
	_, archive := d.archive(t, "linux", here)
	serving{command: layer(install+installed+serve, t.TempDir(), filepath.Dir(file)), caller: []string{program(t, archive)}}.answers(t)
	d.say(name, "dpkg --install, answered as user mcpedge; purged")
	other, file := d.one(t, "mcpedge_", "_"+away+".deb")
	if got := strings.TrimSpace(run(t, "", nil, "dpkg", "--field", file, "Architecture")); got != away {
		t.Errorf("%s is for %s, want %s", other, got, away)
	}
	d.say(other, "for its platform; not installed here")
}

// rpm: rpm installs it, without asking its database for what this machine has by other means.
func (d *dist) rpm(t *testing.T) {
	name, file := d.one(t, "mcpedge_", "_"+here+".rpm")
	d.needLayer(t, name)
	d.need(t, name, "rpm")
	install := "rpm --install --nodeps /packages/" + filepath.Base(file) + " >&2\n"
	erase := "rpm --erase mcpedge >&2\ntest ! -e /usr/bin/mcpedge\n"
	command := layer(install+erase, t.TempDir(), filepath.Dir(file))
	run(t, "", nil, command[0], command[1:]...)
	_, archive := d.archive(t, "linux", here)
	serving{command: layer(install+installed+serve, t.TempDir(), filepath.Dir(file)), caller: []string{program(t, archive)}}.answers(t)
	d.say(name, "rpm --install, answered as user mcpedge; erased")
	other, file := d.one(t, "mcpedge_", "_"+away+".rpm")
	if got := run(t, "", nil, "rpm", "--query", "--queryformat", "%{ARCH}", "--package", file); got != machines[away] {
		t.Errorf("%s is for %s, want %s", other, got, machines[away])
	}
	d.say(other, "for its platform; not installed here")
}

var exposure = regexp.MustCompile(`Overall exposure level for mcpedge.service: ([0-9.]+)`)

// unit: systemd finds nothing wrong with the unit, and calls what it exposes little.
func (d *dist) unit(t *testing.T) {
	name, file := d.one(t, "mcpedge_", "_"+here+".deb")
	d.needLayer(t, name)
	d.need(t, name, "dpkg", "systemd-analyze")
	const most = 2.0
	command := layer("dpkg --install /packages/"+filepath.Base(file)+` >&2
unit=/usr/lib/systemd/system/mcpedge.service
said=$(systemd-analyze verify --man=no $unit 2>&1 | grep mcpedge || :)
test -z "$said" || { echo "$said"; exit 1; }
systemd-analyze security --offline=true --no-pager $unit`, t.TempDir(), filepath.Dir(file))
	m := exposure.FindStringSubmatch(run(t, "", nil, command[0], command[1:]...))
	if m == nil {
		t.Fatal("systemd-analyze security does not say what the unit exposes")
	}
	if level, err := strconv.ParseFloat(m[1], 64); err != nil || level > most {
		t.Errorf("the unit exposes %s, want at most %.1f", m[1], most)
	}
	d.say(name, "unit verified, exposure %s", strings.TrimSpace(m[1]))
}
