// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"mirrord/cluster/objects"
	"mirrord/store"
)

// A site is removed from a depot by a pointer that says so. The pointer is moved there by compare-and-swap,
// as by a check-in: who works for the site meanwhile finds it moved, and does not count. It stays: a machine
// that has seen the site before must not take the depot for one that was emptied, nor bring the site back.
// What the pointer referred to before goes with the next collections.

// removedFormat is that of a pointer which says that its site was removed. Programs that do not know it
// refuse it.
const removedFormat = 2

// ErrRemoved says that a site was removed from the depot. It is an ErrUnknown as well.
var ErrRemoved = fmt.Errorf("%w: it was removed", ErrUnknown)

// removedError is the ErrRemoved of a pointer.
func (p *Pointer) removedError() error {
	return fmt.Errorf("%s: %w by %s, %s", p.Site, ErrRemoved, p.Machine, p.Time.Format(time.RFC3339))
}

// Look returns the pointer of a site; ErrUnknown when the depot does not have it. Of one that is damaged it
// has the name alone.
func Look(ctx context.Context, d *Depot, site string) (*Pointer, error) {
	p, _, err := d.pointer(ctx, site)
	if errors.Is(err, ErrDamaged) {
		return &Pointer{Site: site}, nil
	}
	return p, err
}

// IsUsed reports whether the nodes of a cluster use the depot.
func IsUsed(ctx context.Context, d *Depot) (bool, error) {
	_, _, err := d.Store.Get(ctx, usedByName, 0, objects.MaxGet)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// HasMet reports whether the daemon of a state directory is, or was, a node of the cluster whose depot it is.
func HasMet(d *Depot, state string) bool {
	all, err := readNotesIn[[]string](filepath.Join(state, broughtName))
	return err == nil && all[d.Cluster] != nil
}

// Remove takes a site out of the depot. Collections remove what it had there, and it can be checked in again
// as a new one. A site that the depot does not have is ErrUnknown. may refuses pointers; nil: none, damaged
// ones neither.
func Remove(ctx context.Context, d *Depot, site string, may func(*Pointer) error) error {
	if err := d.writable(); err != nil {
		return err
	}
	p, revision, err := d.pointer(ctx, site)
	if errors.Is(err, ErrDamaged) && may == nil {
		p = new(Pointer)
		p.Sequence, err = lastManifest(ctx, d, site)
	}
	if err == nil && may != nil {
		err = may(p)
	}
	if err != nil {
		return err
	}
	return d.move(ctx, &Pointer{
		Format:   removedFormat,
		Cluster:  d.Cluster,
		Site:     site,
		Token:    p.Token,
		Sequence: p.Sequence + 1,
		Checkin:  objects.RandomName(),
		Machine:  d.Machine,
		Time:     d.Now().UTC(),
		Removed:  true,
	}, revision)
}

// dropRemoved removes a site here that was removed from the depot, unless it has changed here since it was
// there. It returns why: removed, which says by whom, or what kept the site.
func dropRemoved(st *store.State, site string, same bool, removed error) error {
	if !same {
		return fmt.Errorf("%w: %w; push --again puts the local state there", ErrDiverged, removed)
	}
	held, err := st.HoldSite(site)
	if err != nil {
		return errors.Join(err, removed)
	}
	defer held.Close()
	return errors.Join(held.Remove(), st.Shared.DropRecords(site), removed)
}

// lastManifest is the number of the last check-in of a site whose pointer cannot be read.
func lastManifest(ctx context.Context, d *Depot, site string) (sequence uint64, err error) {
	folder := "manifests/" + site + "/"
	for info, err := range d.Store.List(ctx, folder) {
		if err != nil {
			return 0, err
		}
		var n uint64
		if _, err := fmt.Sscanf(strings.TrimPrefix(info.Name, folder), "%d-", &n); err == nil {
			sequence = max(sequence, n)
		}
	}
	return sequence, nil
}

// kindRemoval are the sites that were removed here, or renamed, and that depots have still, in mirror.db:
// site -> removals.
const kindRemoval = "depotremovals"

// removal is a site that a depot has still, although it was removed here or got another name.
type removal struct {
	Known *note  `json:"known"`        // the check-in that this machine has seen
	As    string `json:"as,omitempty"` // its other name, which the depot has first
}

// removals are those of a site, by the cluster of the depot.
type removals map[string]*removal

// Removed notes that a site is about to be removed here, or to get another name, so that the daemon of a
// node removes it from the depot of its cluster: see Removals.
func Removed(st *store.State, site, as string) error {
	notes, err := readNotes(st, site)
	if err != nil || len(notes) == 0 {
		return err
	}
	all := removals{}
	for cluster, n := range notes {
		n.Files = nil
		if n.Next != nil {
			n.Next.Files = nil
		}
		all[cluster] = &removal{Known: n, As: as}
	}
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return st.Shared.Change(kindRemoval, site, func([]byte) ([]byte, error) { return b, nil })
}

// readRemovals reads the removals of a site. Unreadable ones are empty.
func readRemovals(v []byte) removals {
	all := removals{}
	if json.Unmarshal(v, &all) != nil {
		return removals{}
	}
	return all
}

// errLater says that a removal has to wait.
var errLater = errors.New("later")
