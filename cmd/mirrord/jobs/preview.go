// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"time"

	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
)

// printPreview prints what a first run would be. That there is nothing to mirror is an error.
func printPreview(a *cli.CLI, p *runs.Preview) error {
	var problem error
	if p.Problem != "" {
		problem = errors.New(p.Problem)
	}
	takes := "less than 1s"
	if d := time.Duration(p.Seconds * float64(time.Second)).Round(time.Second); d > 0 {
		takes = count.Span(d)
	}
	return errors.Join(a.Show("preview", p, struct {
		*runs.Preview
		Takes string
	}{p, takes}), problem)
}
