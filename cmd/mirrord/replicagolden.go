package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mirrord/replica"
)

func (a *app) replicaGoldenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "replica-golden FILE",
		Short: "Check the finding of replicas against a file of expected values",
		Long: `Check hashes, text, shingles, chunks, sketches, features and samples of addresses, candidate pairs, outcomes, levels, link graphs and clusters against
a file of expected values. All must agree exactly, resemblances and scores to 1e-9. Exit code 1 when anything differs.`,
		Example: `  mirrord replica-golden replica-golden.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			report, err := replica.CheckGolden(file)
			if err != nil {
				return fmt.Errorf("replica-golden %s: %w", args[0], err)
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
				return fmt.Errorf("replica-golden %s: %d values are other than expected", args[0], n)
			}
			return nil
		},
	}
}
