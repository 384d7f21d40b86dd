// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"mirrord/app/shares"
	"mirrord/store/shared"
)

// nodeActs is where other nodes ask for the audit log of a daemon.
const nodeActs = "/node/acts"

// Acts returns the last n entries of the audit logs of all nodes.
func (c *Everywhere) Acts(ctx context.Context, n int) (shares.Acts, error) {
	out, err := c.here.Acts(ctx, n)
	if err != nil {
		return out, err
	}
	for i := range out.Entries {
		out.Entries[i].Node = c.nodes.Me()
	}
	said, away := AskNodes[[]shared.AuditEntry](ctx, c, nodeActs+"?n="+strconv.Itoa(n))
	for node, all := range said {
		for i := range all {
			all[i].Node = node
		}
		out.Entries = append(out.Entries, all...)
	}
	slices.SortStableFunc(out.Entries, func(a, b shared.AuditEntry) int { return b.At.Compare(a.At) })
	out.Entries, out.Away = out.Entries[:min(n, len(out.Entries))], away
	return out, nil
}

// serveActs answers other nodes.
func (f nodeFace) serveActs(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.FormValue("n"))
	if err != nil || n < 0 {
		http.Error(w, "n: want a number", http.StatusBadRequest)
		return
	}
	all, err := f.Acts(r.Context(), n)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	say(w, all.Entries)
}
