// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"mirrord/cluster/objects"
)

// What no manifest of a pointer refers to is garbage: older manifests, unused chunks and bodies, and the
// remains of killed check-ins. But a check-in in progress refers to objects before its pointer does. So one
// collection only lists the unused objects, with the number of an epoch, and the next one removes those of
// them that are still unused; it waits for no check-in. A check-in looks at the list of the epoch as its
// last step before the pointer moves, and puts again what it relies on and stands there. Its own new objects
// may stand there as well, when it takes longer than the time between two collections: then it puts these
// again too.

// epoch is what a collection leaves for the next one.
type epoch struct {
	Number    uint64   `json:"number"`
	Condemned []string `json:"condemned"` // sorted
}

// DepotCollection says what Collect did, or would do.
type DepotCollection struct {
	Epoch     uint64 `json:"epoch"`
	Total     int    `json:"objects"`   // that the depot had
	Bytes     int64  `json:"bytes"`     // of these
	Removed   int    `json:"removed"`   // objects that are removed
	Freed     int64  `json:"freed"`     // bytes of these
	Condemned int    `json:"condemned"` // unused objects that the next collection removes
	Pending   int64  `json:"pending"`   // bytes of these
}

// ErrTooSoon says that the last collection was a moment ago.
var ErrTooSoon = errors.New("the last collection was too short a time ago")

func readEpoch(ctx context.Context, from PointerStore) (e epoch, revision string, err error) {
	b, revision, err := from.Load(ctx, epochName)
	if errors.Is(err, fs.ErrNotExist) {
		return e, "", nil
	}
	if err == nil && json.Unmarshal(b, &e) != nil {
		err = fmt.Errorf("epoch.json: %w: delete it", ErrDamaged)
	}
	return e, revision, err
}

// condemned is what the next collection may remove.
func (e *epoch) condemned() map[string]bool {
	out := map[string]bool{}
	for _, name := range e.Condemned {
		out[name] = true
	}
	return out
}

// relies reports whether a manifest refers to one of some objects.
func relies(m *Manifest, names map[string]bool) bool {
	return slices.ContainsFunc(m.Segments, func(o Segment) bool { return names[o.Name] }) ||
		slices.ContainsFunc(m.Bodies, func(name string) bool { return names[name] })
}

// Collect removes the objects that the last collection found unused and that still are, and lists the unused
// ones. It may run beside everything else. With dry it only says what it would do. A manifest that cannot be
// read ends it: its references are unknown.
func (d *Depot) Collect(ctx context.Context, dry bool) (*DepotCollection, error) {
	if err := d.writable(); err != nil && !dry {
		return nil, err
	}
	e, revision, err := readEpoch(ctx, d.Pointers)
	if err != nil {
		return nil, err
	}
	all := map[string]objects.Info{}
	for _, folder := range []string{"manifests/", "data/", bodyFolder} {
		for info, err := range d.Store.List(ctx, folder) {
			if err != nil {
				return nil, err
			}
			all[info.Name] = info
		}
	}
	used, err := d.used(ctx)
	if err != nil {
		return nil, err
	}
	out := &DepotCollection{Epoch: e.Number + 1, Total: len(all)}
	next := epoch{Number: out.Epoch, Condemned: []string{}}
	var remove []string
	for name, info := range all {
		out.Bytes += info.Size
		if used[name] {
			continue
		}
		if _, ok := slices.BinarySearch(e.Condemned, name); ok {
			remove = append(remove, name)
			out.Removed++
			out.Freed += info.Size
			continue
		}
		next.Condemned = append(next.Condemned, name)
		out.Condemned++
		out.Pending += info.Size
	}
	if dry {
		return out, nil
	}
	if len(remove) > 0 {
		if err := d.mayEnd(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range remove {
		if err := d.Store.Delete(ctx, name); err != nil {
			return nil, err
		}
	}
	slices.Sort(next.Condemned)
	b, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	if err := d.Pointers.Swap(ctx, epochName, b, revision); err != nil {
		if now, _, lerr := readEpoch(ctx, d.Pointers); lerr != nil || now.Number != next.Number ||
			!slices.Equal(now.Condemned, next.Condemned) {
			return nil, errors.Join(fmt.Errorf("another collection is under way: %w", err), lerr)
		}
	}
	if err := d.mark(ctx, markName); err != nil {
		return nil, err
	}
	if f, ok := d.Store.(interface{ Tidy() error }); ok {
		return out, f.Tidy()
	}
	return out, nil
}

// used lists the objects that pointers and their manifests refer to.
func (d *Depot) used(ctx context.Context) (map[string]bool, error) {
	used := map[string]bool{}
	sites, err := d.Sites(ctx)
	if err != nil {
		return nil, err
	}
	for i := range sites {
		p := &sites[i]
		m, err := readManifest(ctx, d.Store, p)
		for range 5 { // the pointer was moved, and the manifest before may be gone
			if !errors.Is(err, ErrLost) {
				break
			}
			if p, _, err = d.pointer(ctx, sites[i].Site); err == nil {
				m, err = readManifest(ctx, d.Store, p)
			}
		}
		if errors.Is(err, ErrUnknown) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("nothing is removed: %w", err)
		}
		used[p.Manifest] = true
		for _, o := range m.Segments {
			used[o.Name] = true
		}
		for _, name := range m.Bodies {
			used[name] = true
		}
	}
	return used, nil
}

// markName is an object that each collection puts at its end. Its time is when the epoch began.
const markName = "collected"

// Collected returns when the last collection ended, by the clock of the store; the zero value when there was
// none.
func Collected(ctx context.Context, d *Depot) (time.Time, error) {
	_, mark, err := d.Store.Get(ctx, markName, 0, 1)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	return mark.Time, err
}

// mayEnd is ErrTooSoon when the epoch has not lasted long enough, by the clock of the store.
func (d *Depot) mayEnd(ctx context.Context) error {
	probe := "probe-" + objects.RandomName()
	if err := d.mark(ctx, probe); err != nil {
		return err
	}
	_, now, err := d.Store.Get(ctx, probe, 0, 1)
	if err = errors.Join(err, d.Store.Delete(ctx, probe)); err != nil {
		return err
	}
	_, began, err := d.Store.Get(ctx, markName, 0, 1)
	if errors.Is(err, fs.ErrNotExist) { // a collection was killed at its end
		began, err = now, d.mark(ctx, markName)
	}
	if err != nil {
		return err
	}
	if left := d.Epoch - now.Time.Sub(began.Time); left > 0 {
		return fmt.Errorf("%w: what it found unused can be removed in %s", ErrTooSoon, left.Round(time.Second))
	}
	return nil
}

func (d *Depot) mark(ctx context.Context, name string) error {
	_, err := d.Store.Put(ctx, name, objects.Bytes([]byte(d.Machine+"\n")), objects.Condition{})
	return err
}
