// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mirrord/internal/regular"
)

// goldenResult is what comes of a file of expected values, and what --json writes of it.
type goldenResult struct {
	Cases    int      `json:"cases"`
	Values   int      `json:"values"`
	Problems []string `json:"problems"`
}

// golden checks a file of expected values, and reports; it is an error when a value is another.
func golden(a *cli, cmd *cobra.Command, name string, check func(io.Reader) (*goldenResult, error)) error {
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
	if a.json {
		if err := a.printJSON(result); err != nil {
			return err
		}
	} else {
		for _, p := range result.Problems {
			a.printf("%s\n", p)
		}
		a.printf("%d cases, %d values, %d other than expected\n", result.Cases, result.Values, len(result.Problems))
	}
	if n := len(result.Problems); n > 0 {
		return fmt.Errorf("%s %s: %d values are other than expected", cmd.Name(), name, n)
	}
	return nil
}
