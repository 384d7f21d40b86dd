// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mirrord/status"
	"mirrord/store"
)

// nodeActs is where other nodes ask for the audit log of a daemon.
const nodeActs = "/node/acts"

// Acts are the last entries of audit logs, newest first.
type Acts struct {
	Entries []store.AuditEntry
	Away    []status.NodeSaid // nodes whose entries are missing, because they do not answer
}

// Acts returns the last n entries of the audit logs of all nodes.
func (c *Everywhere) Acts(ctx context.Context, n int) (Acts, error) {
	out, err := c.Daemon.Acts(ctx, n)
	if err != nil {
		return out, err
	}
	for i := range out.Entries {
		out.Entries[i].Node = c.nodes.Me()
	}
	said, away := AskNodes[[]store.AuditEntry](ctx, c, nodeActs+"?n="+strconv.Itoa(n))
	for node, all := range said {
		for i := range all {
			all[i].Node = node
		}
		out.Entries = append(out.Entries, all...)
	}
	slices.SortStableFunc(out.Entries, func(a, b store.AuditEntry) int { return b.At.Compare(a.At) })
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
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all.Entries) // an error: who asked is gone
}

// AskNodes asks all other nodes for what lies at a path, all at a time. Those that this daemon has heard of
// and that do not answer are away.
func AskNodes[T any](ctx context.Context, c *Everywhere, path string) (map[string]T, []status.NodeSaid) {
	ctx, cancel := context.WithTimeout(ctx, saysWithin)
	defer cancel()
	type answer struct {
		node string
		says T
		err  error
	}
	members := c.nodes.Members()
	names := append(slices.Clone(members), c.heardOf()...)
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == c.nodes.Me() })
	answers := make(chan answer, len(names))
	for _, name := range names {
		go func() {
			a := answer{node: name, err: errNoMember}
			if slices.Contains(members, name) {
				a.err = getFrom(ctx, c.nodes.To(name), path, &a.says)
			}
			answers <- a
		}()
	}
	said := map[string]T{}
	var away []status.NodeSaid
	for range names {
		a := <-answers
		if a.err != nil {
			away = append(away, status.NodeSaid{Name: a.node, Away: a.err.Error()})
			continue
		}
		said[a.node] = a.says
	}
	slices.SortFunc(away, func(a, b status.NodeSaid) int { return strings.Compare(a.Name, b.Name) })
	return said, away
}

var errNoMember = errors.New("it is not part of the cluster now")

// getFrom reads a value as JSON.
func getFrom(ctx context.Context, way http.RoundTripper, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://mirrord"+path, nil)
	if err != nil {
		return err
	}
	resp, err := way.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(resp.Body).Decode(into)
	case http.StatusNotFound:
		return errors.New("its program is older and does not know the question")
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return errors.Join(fmt.Errorf("it answers %d: %s", resp.StatusCode, strings.TrimSpace(string(text))), err)
}
