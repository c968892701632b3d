package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"
)

// outcome is what one client did over one transport.
type outcome struct {
	client, transport string
	said
	took    time.Duration // without the installation
	slowest step
	err     error // why it stopped early; nil: it did not
}

// report prints the table and the totals, and writes the latter to the file counts, if it is named. A
// client that stopped early is one failure, and an error.
func report(w io.Writer, all []outcome, counts string) error {
	var passed, failed int
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "CLIENT\tTRANSPORT\tSTEPS\tTIME\tRESULT\tSLOWEST STEP")
	for _, o := range all {
		result := "ok"
		if passed += len(o.steps); o.err != nil {
			failed++
			result = "FAILED"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%.1f s\t%s\t%.1f s %s\n",
			o.client, o.transport, len(o.steps), o.took.Seconds(), result, o.slowest.took.Seconds(), o.slowest.name)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	if counts != "" {
		if err := os.WriteFile(counts, fmt.Appendf(nil, "%d %d\n", passed, failed), 0o644); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d client runs failed", failed, len(all))
	}
	return nil
}
