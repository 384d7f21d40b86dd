// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/spf13/cobra"

	"mirrord/replica"
)

func replicaGoldenCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:    "replica-golden FILE",
		Short:  "Check the finding of replicas",
		Hidden: true,
		Long: `Check hashes, text, shingles, chunks, sketches, features and samples of addresses, candidate pairs, outcomes, levels, link graphs and clusters against
a file of expected values. All must agree exactly, resemblances and scores to 1e-9. Exit code 1 when anything differs.`,
		Example: `  mirrord replica-golden replica-golden.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return golden(a, cmd, args[0], func(r io.Reader) (*goldenResult, error) {
				report, err := replica.CheckGolden(r)
				if err != nil {
					return nil, err
				}
				return &goldenResult{report.Cases, report.Values, append([]string{}, report.Problems...)}, nil
			})
		},
	}
}
