// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// clusterCommand has the commands of many machines: what brings mirrors from one to another.
func clusterCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Depots: mirrors for many machines, and off-site copies",
		Long: `Keep mirrors in a depot, which is a bucket of an S3 server or a directory, and bring them to other machines.

Guide: docs/cluster.md.`,
	}
	cmd.AddCommand(
		clusterPushCommand(a), clusterPullCommand(a), clusterDepotCommand(a), clusterCollectCommand(a),
	)
	return cmd
}
