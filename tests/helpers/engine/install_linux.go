package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Program is a program that tests need, and its Debian package.
type Program struct{ Name, Package string }

var programsOfEngine = []Program{
	{"dockerd", "docker.io"}, {"runc", "docker.io"}, {"iptables", "iptables"}, {"ip", "iproute2"}, {"ldd", "libc-bin"},
}

// install installs missing programs, if possible. The error says why it is not possible.
func install(programs []Program) error {
	// On some systems PATH lacks these directories.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("a separate engine requires root: run the test as root")
	}
	packages := missing(programs)
	if len(packages) == 0 {
		return nil
	}
	names := strings.Join(packages, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s: install these packages of Debian", names)
	}
	for _, args := range [][]string{{"update", "-qq"}, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)} {
		cmd := exec.Command("apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: apt-get %s: %w: %s", names, strings.Join(args, " "), err, out)
		}
	}
	if packages = missing(programs); len(packages) > 0 {
		return fmt.Errorf("the programs of %s are missing after the installation", strings.Join(packages, " "))
	}
	return nil
}

// missing returns the packages of the missing programs.
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
