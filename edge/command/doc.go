// Package command has the code that the commands of mcpedge share. Each command, or two related
// ones, is a package below it; main selects among them.
package command

import (
	"fmt"
	"strings"
)

// Take takes the values of a flag out of the arguments of a command, in their order. The flag is
// none of the settings, so the environment and the file do not have it. want says what its value
// is, for the error of one that lacks it.
func Take(command, flag, want string, args []string) (values, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		value, found := strings.CutPrefix("-"+strings.TrimLeft(args[i], "-"), "-"+flag+"=")
		switch {
		case found && strings.HasPrefix(args[i], "-"):
		case args[i] != "--"+flag && args[i] != "-"+flag:
			rest = append(rest, args[i])
			continue
		case i+1 == len(args):
			return nil, nil, fmt.Errorf("%s: --%s lacks %s", command, flag, want)
		default:
			i++
			value = args[i]
		}
		values = append(values, value)
	}
	return values, rest, nil
}

// TakeLast is Take for a flag of which the last value counts; empty without any.
func TakeLast(command, flag, want string, args []string) (value string, rest []string, err error) {
	values, rest, err := Take(command, flag, want, args)
	if err == nil && len(values) > 0 {
		value = values[len(values)-1]
	}
	return value, rest, err
}
