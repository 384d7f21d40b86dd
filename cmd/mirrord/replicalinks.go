// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"mirrord/app"
)

// replicaLinks prints the collections that were found along links.
func replicaLinks(ctx context.Context, a *cli, dirs []string, o replicaFlags) error {
	x, done := a.appWithNote()
	defer done()
	found, err := app.FindLinked(ctx, x, dirs, o.ReplicaOptions)
	if err != nil {
		return err
	}
	done()
	if a.json {
		return a.printJSON(found)
	}
	a.printf("%d pages with %d links, of which %d lead nowhere as they are written; %d files are not pages, "+
		"%d could not be read\n", found.Pages, found.Links, found.Dangling, found.Skipped, found.Bad)
	a.printf("\n%s\n", plural(found.Found, "collection in several places, what has the most copies first",
		"collections in several places, what has the most copies first"))
	for i, c := range found.Clusters {
		a.printf("%3d  factor %d, %d pages, grown from %s, to which other hosts link %s\n", i+1, c.Factor, c.Size,
			c.Root, plural(c.Foreign, "time", "times"))
		for _, cp := range c.Copies {
			shared := ""
			if cp.Shared > 0 {
				shared = ", " + plural(cp.Shared, "page of another copy is linked", "pages of other copies are linked")
			}
			a.printf("     %6d  %s%s\n", cp.Pages, cp.At, shared)
		}
	}
	return nil
}

// isByLinks reads the name of a method: "text", or "links".
func isByLinks(method string) (bool, error) {
	if method != "text" && method != "links" {
		return false, app.Usagef("--method %s: want text or links", method)
	}
	return method == "links", nil
}
