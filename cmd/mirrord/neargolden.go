// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/spf13/cobra"

	"mirrord/near"
)

func nearGoldenCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:    "near-golden FILE",
		Short:  "Check rule mining",
		Hidden: true,
		Long: `Check degrees, frequencies and correlations of change, mined rules and what they skip against a file of expected values: JSON with "format": 1 and
"cases", as in near/testdata. Counts must agree exactly, correlations and confidences to 1e-12. Exit code 1 when anything differs.

--json writes "cases", "values" (that were compared) and "problems", a text for each value that is another.`,
		Example: `  mirrord near-golden near/testdata/golden.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return golden(a, cmd, args[0], func(r io.Reader) (*goldenResult, error) {
				report, err := near.CheckGolden(r)
				if err != nil {
					return nil, err
				}
				return &goldenResult{report.Cases, report.Values, append([]string{}, report.Problems...)}, nil
			})
		},
	}
}
