// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"

	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
)

// replicaLinks prints the collections that were found along links.
func replicaLinks(ctx context.Context, a *cli.CLI, dirs []string, o replicaFlags) error {
	x, done := a.AppWithNote()
	defer done()
	found, err := replicas.FindLinked(ctx, x, dirs, o.ReplicaOptions)
	if err != nil {
		return err
	}
	done()
	if a.JSON {
		return a.PrintJSON(found)
	}
	a.Printf("%s with %s, of which %s nowhere as they are written; %s, %d could not be read\n",
		count.Of(found.Pages, "page"), count.Of(found.Links, "link"), count.Of(found.Dangling, "leads", "lead"),
		count.Of(found.Skipped, "file is no page", "files are not pages"), found.Bad)
	a.Printf("\n%s\n", count.Of(found.Found, "collection in several places",
		"collections in several places, what has the most copies first"))
	for i, c := range found.Clusters {
		a.Printf("%3d  factor %d, %s, grown from %s, to which other hosts link %s\n", i+1, c.Factor,
			count.Of(c.Size, "page"), c.Root, count.Of(c.Foreign, "time"))
		for _, cp := range c.Copies {
			shared := ""
			if cp.Shared > 0 {
				shared = ", " + count.Of(cp.Shared, "page of another copy is linked",
					"pages of other copies are linked")
			}
			a.Printf("     %6d  %s%s\n", cp.Pages, cp.At, shared)
		}
	}
	return nil
}

// isByLinks reads the name of a method: "text", or "links".
func isByLinks(method string) (bool, error) {
	if method != "text" && method != "links" {
		return false, env.Usagef("--method %s: want text or links", method)
	}
	return method == "links", nil
}
