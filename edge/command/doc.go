// Package command has the code that the commands of mcpedge share. Each command, or two related
// ones, is a package below it; main selects among them.
package command

import (
	"fmt"
	"strings"
)

// Take removes a flag from the arguments of a command, and returns its values in their order. Such
// a flag is not a setting, so it cannot be set in the environment or the file. want describes the
// value for the error about a missing one.
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

// TakeLast is like Take, and returns only the last value, or an empty text if the flag is absent.
func TakeLast(command, flag, want string, args []string) (value string, rest []string, err error) {
	values, rest, err := Take(command, flag, want, args)
	if err == nil && len(values) > 0 {
		value = values[len(values)-1]
	}
	return value, rest, err
}
