package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Program is one that tests need, and the package of Debian that has it.
type Program struct{ Name, Package string }

var programsOfEngine = []Program{
	{"dockerd", "docker.io"}, {"runc", "docker.io"}, {"iptables", "iptables"}, {"ip", "iproute2"}, {"ldd", "libc-bin"},
}

// install installs what is missing, where that can be done; the error says why it cannot.
func install(programs []Program) error {
	// Some systems have no such folder in the path of everybody.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("an engine of its own takes root: run it as root")
	}
	packages := missing(programs)
	if len(packages) == 0 {
		return nil
	}
	names := strings.Join(packages, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s: install what Debian has in these packages", names)
	}
	for _, args := range [][]string{{"update", "-qq"}, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)} {
		cmd := exec.Command("apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: apt-get %s: %w: %s", names, strings.Join(args, " "), err, out)
		}
	}
	if packages = missing(programs); len(packages) > 0 {
		return fmt.Errorf("installed, and still without the programs of %s", strings.Join(packages, " "))
	}
	return nil
}

// missing are the packages of the programs that are not found.
func missing(programs []Program) (packages []string) {
	for _, p := range programs {
		if _, err := exec.LookPath(p.Name); err != nil {
			packages = append(packages, p.Package)
		}
	}
	if _, err := client(); err != nil {
		packages = append(packages, "docker.io")
	}
	return packages
}
