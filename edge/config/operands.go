package config

// Operands separates the operands of a command from its flags, which may be on either side of them.
// After a flag that the command does not have everything is a flag, for the error of Load.
func Operands(command string, args []string) (operands, options []string) {
	for len(args) > 0 {
		cfg, file := Default(), ""
		cfg.origins = new(origins)
		fs := flags(command, &cfg, &file)
		if err := fs.Parse(args); err != nil {
			return operands, append(options, args...)
		}
		rest := fs.Args()
		if taken := args[:len(args)-len(rest)]; len(taken) > 0 && taken[len(taken)-1] == "--" {
			return append(operands, rest...), append(options, taken[:len(taken)-1]...)
		} else {
			options = append(options, taken...)
		}
		if args = rest; len(args) > 0 {
			operands, args = append(operands, args[0]), args[1:]
		}
	}
	return operands, options
}
