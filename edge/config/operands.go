package config

// Operands separates the operands of a command from its flags, which may precede and follow them.
// If the command lacks a flag, that flag and all further arguments are returned as options, so that
// Load reports the flag.
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
