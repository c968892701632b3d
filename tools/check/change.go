package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// changedFiles returns the files that differ from base, as slash-separated paths from the root, and
// a description of the commit they are compared with. Untracked files that are not ignored are
// included. An empty base means the commit of branched.
func changedFiles(base string) (files []string, since string, err error) {
	if base == "" {
		base = branched()
	}
	differ, err := git("diff", "--name-only", "-z", base)
	if err != nil {
		return nil, "", fmt.Errorf("comparing with %s: %w", base, err)
	}
	added, err := git("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, "", err
	}
	files = append(names(differ), names(added)...)
	slices.Sort(files)
	since, err = git("log", "-1", "--format=%h (%s)", base)
	return slices.Compact(files), strings.TrimSpace(since), err
}

// branched returns the commit at which HEAD left the main branch. If HEAD is that commit and the
// working tree is clean, it returns the parent of HEAD. Without a main branch it returns HEAD.
func branched() string {
	for _, mainBranch := range []string{"origin/main", "main"} {
		base, err := git("merge-base", mainBranch, "HEAD")
		if err != nil {
			continue
		}
		head, headErr := git("rev-parse", "HEAD")
		status, statusErr := git("status", "--porcelain")
		_, parentErr := git("rev-parse", "--verify", "HEAD~1")
		if errors.Join(headErr, statusErr, parentErr) == nil && base == head && status == "" {
			return "HEAD~1"
		}
		return strings.TrimSpace(base)
	}
	return "HEAD"
}

// foreign splits files into those of the root module and those of other modules, such as tools/.
// For each of the other modules it returns the command that tests it.
func foreign(files []string) (own, commands []string, err error) {
	list, err := git("ls-files", "-z", "--", "*/go.mod")
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		folder := ""
		for _, mod := range names(list) {
			if dir := strings.TrimSuffix(mod, "go.mod"); strings.HasPrefix(file, dir) && len(dir) > len(folder) {
				folder = dir
			}
		}
		if folder == "" {
			own = append(own, file)
		} else {
			commands = append(commands, "go test -C "+strings.TrimSuffix(folder, "/")+" ./...")
		}
	}
	slices.Sort(commands)
	return own, slices.Compact(commands), nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	return string(out), err
}

// names splits the NUL-separated output of git -z.
func names(list string) []string {
	return slices.DeleteFunc(strings.Split(list, "\x00"), func(name string) bool { return name == "" })
}
