package check

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/command"
)

// takeBudget removes --budget from the arguments of check and returns its value. 0 means that it is
// absent. The last of several counts.
func takeBudget(args []string) (budget int, rest []string, err error) {
	const want = "a number of tokens above 0, as 8000"
	values, rest, err := command.Take("check", "budget", want, args)
	if err != nil || len(values) == 0 {
		return 0, rest, err
	}
	last := values[len(values)-1]
	if budget, err = strconv.Atoi(last); err != nil || budget <= 0 {
		return 0, nil, fmt.Errorf("check: --budget %q: give %s", last, want)
	}
	return budget, rest, nil
}

// printCosts writes to out how much of a model's context each tool takes. It returns an error if the
// sum exceeds the budget.
func printCosts(costs []catalog.ToolCost, budget int, out io.Writer) error {
	sum := 0
	for _, c := range costs {
		sum += c.Tokens
	}
	_, _ = fmt.Fprintf(out, "tokens  %d of %d for the %d tools that clients see, estimated at 4 bytes a token:\n", sum, budget, len(costs))
	for _, c := range costs {
		_, _ = fmt.Fprintf(out, "  %6d  %s (%s)\n", c.Tokens, c.Name, c.Backend)
	}
	if sum > budget {
		return errors.New("check: the tools take about " + strconv.Itoa(sum) + " tokens of a model's context, and the budget is " + strconv.Itoa(budget) +
			": shorten the first ones' descriptions and schemas, or hide some with catalog")
	}
	return nil
}
