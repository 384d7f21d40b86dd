// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mirrord/app/runs"
	"mirrord/testing/lab/experiments"
)

func planCommand(l *lab) *cobra.Command {
	var plot string
	c := &cobra.Command{
		Use:   "plan JOB --plot FILE",
		Short: "Draw what prices would have come to",
		Long: `Draw what mirrord plan JOB --price shows: the requests and bytes that prices would have saved, and what they would
have missed.`,
		Example: "  lab plan samba --state /var/lib/mirrord --jobs /etc/mirrord/jobs.d --plot prices.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := runs.Prices(cmd.Context(), l.app(), args[0])
			if err != nil {
				return err
			}
			return writeSVG(plot, func(w io.Writer) error {
				title := fmt.Sprintf("%s: what prices would have saved, and missed", r.Job)
				return experiments.Plot(w, title, experiments.PriceCurves(r.Prices, r.Megabytes), nil)
			})
		},
	}
	c.Flags().StringVar(&plot, "plot", "", "draw into this SVG `FILE`")
	if err := c.MarkFlagRequired("plot"); err != nil {
		panic(err)
	}
	return c
}
