// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mirrord/internal/regular"
	"mirrord/testing/lab/neargolden"
	"mirrord/testing/lab/replicagolden"
)

// goldenResult is what comes of a file of expected values, and what --json writes of it.
type goldenResult struct {
	Cases    int      `json:"cases"`
	Values   int      `json:"values"` // that were compared
	Problems []string `json:"problems"`
}

func nearGoldenCommand(l *lab) *cobra.Command {
	return &cobra.Command{
		Use:   "near-golden FILE",
		Short: "Check rule mining",
		Long: `Check degrees, frequencies and correlations of change, mined rules and what they skip against a file of expected values: JSON with "format": 1 and
"cases", as in testing/lab/neargolden/testdata. Counts must agree exactly, correlations and confidences to 1e-12. Exit code 1 when anything differs.

--json writes "cases", "values" (that were compared) and "problems", a text for each value that is another.`,
		Example: `  lab near-golden testing/lab/neargolden/testdata/golden.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return golden(l, cmd, args[0], func(r io.Reader) (*goldenResult, error) {
				report, err := neargolden.CheckGolden(r)
				return &goldenResult{report.Cases, report.Values, report.Problems}, err
			})
		},
	}
}

func replicaGoldenCommand(l *lab) *cobra.Command {
	return &cobra.Command{
		Use:   "replica-golden FILE",
		Short: "Check the finding of replicas",
		Long: `Check hashes, text, shingles, chunks, sketches, features and samples of addresses, candidate pairs, outcomes, levels, link graphs and clusters against
a file of expected values. All must agree exactly, resemblances and scores to 1e-9. Exit code 1 when anything differs.`,
		Example: `  lab replica-golden replica-golden.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return golden(l, cmd, args[0], func(r io.Reader) (*goldenResult, error) {
				report, err := replicagolden.CheckGolden(r)
				return &goldenResult{report.Cases, report.Values, report.Problems}, err
			})
		},
	}
}

// golden checks a file of expected values, and reports; it is an error when a value is another.
func golden(l *lab, cmd *cobra.Command, name string, check func(io.Reader) (*goldenResult, error)) error {
	file, err := regular.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	text := regular.UntilReader(cmd.Context(), file)
	defer text.Close()
	result, err := check(text)
	if err != nil {
		return fmt.Errorf("%s %s: %w", cmd.Name(), name, err)
	}
	if l.json {
		result.Problems = append([]string{}, result.Problems...)
		if err := l.printJSON(result); err != nil {
			return err
		}
	} else {
		for _, p := range result.Problems {
			fmt.Fprintln(l.stdout, p)
		}
		fmt.Fprintf(l.stdout, "%d cases, %d values, %d other than expected\n", result.Cases, result.Values,
			len(result.Problems))
	}
	if n := len(result.Problems); n > 0 {
		return fmt.Errorf("%s %s: %d values are other than expected", cmd.Name(), name, n)
	}
	return nil
}
