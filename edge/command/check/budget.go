package check

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/command"
	"github.com/mcpedge/mcpedge/edge/config"
)

// takeBudget removes --budget from the arguments of check and returns its last value. 0 means that
// it is absent.
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

// checkBudget writes to out how many tokens of a model's context each listed tool takes, for the
// root, if it shows everything, and for each set. It returns an error for each of these whose sum
// exceeds the budget.
func checkBudget(cfg *config.Config, preview *catalog.Preview, budget int, out io.Writer) error {
	sets, err := cfg.OpenSets()
	if err != nil {
		return nil // reported by Load
	}
	if name, served := cfg.RootSet(); served && name == "" {
		err = printCosts(preview.Costs(nil), "", budget, out)
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		err = errors.Join(err, printCosts(preview.Costs(sets[name].Set), name, budget, out))
	}
	return err
}

// printCosts writes to out how many tokens of a model's context each tool takes. It returns an
// error if the sum exceeds the budget. set is the name of a set. Empty means the root.
func printCosts(costs []catalog.ToolCost, set string, budget int, out io.Writer) error {
	sum, at, of := 0, "", ""
	if set != "" {
		at, of = " at the set "+set, " of the set "+set
	}
	for _, c := range costs {
		sum += c.Tokens
	}
	_, _ = fmt.Fprintf(out, "tokens  %d of %d for the %d tools that clients see%s, estimated at 4 bytes a token:\n", sum, budget, len(costs), at)
	for _, c := range costs {
		_, _ = fmt.Fprintf(out, "  %6d  %s (%s)\n", c.Tokens, c.Name, cmp.Or(c.Backend, "the edge"))
	}
	if sum > budget {
		return errors.New("check: the tools" + of + " take about " + strconv.Itoa(sum) + " tokens of a model's context, and the budget is " + strconv.Itoa(budget) +
			": shorten the first ones' descriptions and schemas, or hide some with catalog")
	}
	return nil
}
