package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mirrord/near"
)

// goldenResult is what mirrord near-golden --json writes.
type goldenResult struct {
	Cases    int      `json:"cases"`
	Values   int      `json:"values"`
	Problems []string `json:"problems"`
}

func (a *app) nearGoldenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "near-golden FILE",
		Short: "Check rule mining against a file of expected values",
		Long: `Check degrees, frequencies and correlations of change, mined rules and what they skip against a file of expected values: JSON with "format": 1 and
"cases", as in near/testdata. Counts must agree exactly, correlations and confidences to 1e-12. Exit code 1 when anything differs.

--json writes "cases", "values" (that were compared) and "problems", a text for each value that is another.`,
		Example: `  mirrord near-golden near/testdata/golden.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			report, err := near.CheckGolden(file)
			if err != nil {
				return fmt.Errorf("near-golden %s: %w", args[0], err)
			}
			if a.json {
				if err := a.printJSON(goldenResult{report.Cases, report.Values, append([]string{}, report.Problems...)}); err != nil {
					return err
				}
			} else {
				for _, p := range report.Problems {
					a.printf("%s\n", p)
				}
				a.printf("%d cases, %d values, %d other than expected\n", report.Cases, report.Values, len(report.Problems))
			}
			if n := len(report.Problems); n > 0 {
				return fmt.Errorf("near-golden %s: %d values are other than expected", args[0], n)
			}
			return nil
		},
	}
}
