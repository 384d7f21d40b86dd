// SPDX-License-Identifier: Apache-2.0

// Package depot keeps the states of sites in a store of objects, where every machine can have them: between
// the runs of a cluster, and as a backup.
//
// Objects in the store, below its prefix:
//
//	depot.json               which cluster the depot belongs to; made once
//	sites/NAME.json          the pointer of a site: which manifest counts, and who put it there
//	manifests/NAME/SEQ-RAND  the manifest of one check-in: files as lists of chunks, and where they lie
//	data/NAME/RAND           chunks of the files of a site, those that were new at one check-in, up to 8 MiB
//	bodies/RAND              bodies that are published as they came, small ones, up to 8 MiB together
//	bodies/large/D.SIZE.TIME a large body by its digest
//	orders/ID/RAND/NAME      archives of orders: put, read and removed by package app/orders alone
//	epoch.json               which objects a collection has found unused, see Collect
//
// An object is never changed but for pointers and epoch.json, which are moved by compare-and-swap: of the
// store, or with the keepers of a cluster where the store has none. A check-in
// puts chunks and bodies first, then the manifest, then moves the pointer: an interruption before that leaves
// the old state, and objects that the next collection finds. What the files of a site have is known by
// digests of chunks, so that only new ones are put, and only missing ones are fetched; nothing is used before
// its digest is checked.
package depot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"mirrord/cluster/objects"
	"mirrord/store/away"
	"mirrord/store/shared"
)

// Options say how a depot is used. Store is required.
type Options struct {
	Store    objects.Store
	Pointers PointerStore     // nil: objects of the store; or see Keep
	Machine  string           // a name of this machine, for people who look at pointers
	Note     func(string)     // receives progress; nil discards it
	Now      func() time.Time // nil: time.Now
	// Create makes a missing depot. Without it that is ErrNoDepot.
	Create bool
	// CreateKept makes it one whose pointers lie with the keepers of a cluster: its store lacks conditions.
	CreateKept bool
	// Epoch is the shortest time between two collections; default one hour. No check-in takes longer between its
	// last look at the epoch and its end than a third of it.
	Epoch time.Duration
	// OnDemand has check-outs leave in the depot what only older versions need: it comes when it is read. The
	// depot is then the only one that has it.
	OnDemand bool
	Address  string // of the store, for who reads later what was left; default: the name of the store
}

// Depot is an open depot. Its methods may be called from several goroutines, for different sites.
type Depot struct {
	Options
	Cluster string // the identity of the cluster
	kept    bool   // pointers lie with the keepers of a cluster
	bodies  knownBodies
}

// Errors that say what keeps a depot or a site of it from being used. In each case nothing was changed.
var (
	ErrNoDepot  = errors.New("there is no depot here")
	ErrUnknown  = errors.New("the depot has no such site")
	ErrForeign  = errors.New("it belongs to another cluster")
	ErrOldToken = errors.New("a later owner of the site has checked it in")
	ErrDiverged = errors.New("the site here and the one in the depot have both changed")
	ErrLost     = errors.New("something is missing in the depot")
	ErrDamaged  = errors.New("damaged in the depot")

	// These two are ErrDiverged as well.
	ErrStranger = fmt.Errorf("%w, and it was never in this depot from here", ErrDiverged)
	ErrSetBack  = fmt.Errorf("%w: the depot was set back", ErrDiverged)
)

// Version of the objects in depots. A newer one is refused. A depot itself has keptVersion when its
// pointers lie elsewhere than a program of version 1 believes.
const (
	Version     = 1
	keptVersion = 2
)

// identity is depot.json.
type identity struct {
	Format  int       `json:"format"`
	Cluster string    `json:"cluster"`
	Made    time.Time `json:"made"`
	// Pointers says where they lie: "" in the store, or AtKeepers.
	Pointers string `json:"pointers,omitempty"`
}

const identityName = "depot.json"

// Open opens a depot. Who means to write it tests the store first: objects.CheckConditions.
func Open(ctx context.Context, o Options) (*Depot, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Epoch == 0 {
		o.Epoch = time.Hour
	}
	if o.Address == "" {
		o.Address = o.Store.String()
	}
	if o.Pointers == nil {
		o.Pointers = objectPointers{o.Store}
	}
	d := &Depot{Options: o, kept: o.Create && o.CreateKept}
	id, err := d.identify(ctx)
	if err != nil {
		return nil, err
	}
	if id.Format > keptVersion || (id.Pointers != "" && id.Pointers != AtKeepers) {
		return nil, fmt.Errorf("%s was written by a newer mirrord (format %d; this knows %d): use the newer one",
			o.Store, id.Format, keptVersion)
	}
	d.Cluster, d.kept = id.Cluster, id.Pointers == AtKeepers
	if d.kept {
		d.Pointers = copies{objectPointers{o.Store}}
	}
	return d, nil
}

// identify reads depot.json, and makes it where it may.
func (d *Depot) identify(ctx context.Context) (id identity, err error) {
	for range 2 { // another machine may make it first
		b, _, err := d.Store.Get(ctx, identityName, 0, objects.MaxGet)
		if err == nil {
			if err := json.Unmarshal(b, &id); err != nil || id.Cluster == "" {
				return id, fmt.Errorf("%s: %s is no mirrord depot: %s cannot be read", d.Store, identityName, b)
			}
			return id, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return id, err
		}
		if !d.Create {
			return id, fmt.Errorf("%s: %w: it is empty, or the address is wrong", d.Store, ErrNoDepot)
		}
		id = identity{Format: Version, Cluster: objects.RandomName(), Made: d.Now().UTC()}
		if d.kept {
			id.Format, id.Pointers = keptVersion, AtKeepers
		}
		if b, err = json.Marshal(id); err != nil {
			return id, err
		}
		_, err = d.Store.Put(ctx, identityName, objects.Bytes(b), d.condition(objects.Condition{New: true}))
		if err != nil && !errors.Is(err, objects.ErrCondition) {
			return id, err
		}
	}
	b, _, err := d.Store.Get(ctx, identityName, 0, objects.MaxGet)
	if err == nil {
		err = json.Unmarshal(b, &id)
	}
	return id, err
}

// usedByName is an object that says which cluster uses the depot: that of some keepers, beyond which no lease
// counts.
const usedByName = "used-by.json"

// usedBy is what it holds.
type usedBy struct {
	Cluster string    `json:"cluster"`
	Machine string    `json:"machine"`
	Time    time.Time `json:"time"`
}

// UseFor lets the nodes of a cluster use the depot. When another one does it is ErrForeign; with takeOver the
// depot is this one's from now on.
func (d *Depot) UseFor(ctx context.Context, cluster string, takeOver bool) error {
	b, err := json.Marshal(usedBy{cluster, d.Machine, d.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if !takeOver && !d.kept {
		_, err = d.Store.Put(ctx, usedByName, objects.Bytes(b), objects.Condition{New: true})
		if !errors.Is(err, objects.ErrCondition) {
			return err
		}
	}
	var now usedBy
	is, info, err := d.Store.Get(ctx, usedByName, 0, objects.MaxGet)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = d.Store.Put(ctx, usedByName, objects.Bytes(b), d.condition(objects.Condition{New: true}))
		return err
	case err != nil:
		return err
	case json.Unmarshal(is, &now) == nil && now.Cluster == cluster:
		return nil
	case takeOver:
		_, err = d.Store.Put(ctx, usedByName, objects.Bytes(b), d.condition(objects.Condition{ETag: info.ETag}))
		return err
	}
	return fmt.Errorf("%s: %w, whose nodes use it since %s (%s); if its keepers are gone for good: mirrord "+
		"cluster adopt", d.Store, ErrForeign, now.Time.Format(time.RFC3339), now.Machine)
}

// AtKeepers reports whether the pointers of the depot lie with the keepers of a cluster.
func (d *Depot) AtKeepers() bool { return d.kept }

// Keep lets a depot whose pointers lie with keepers have them; for others it does nothing. It comes before
// all use of sites.
func (d *Depot) Keep(shared shared.KeyValues) {
	if d.kept {
		d.Pointers = keeperPointers{shared, copies{objectPointers{d.Store}}}
	}
}

// writable is ErrKeepers when pointers cannot be moved.
func (d *Depot) writable() error {
	if _, no := d.Pointers.(copies); no {
		return fmt.Errorf("%s: %w", d.Store, ErrKeepers)
	}
	return nil
}

// condition is what a store is asked to put on, where it can.
func (d *Depot) condition(c objects.Condition) objects.Condition {
	if d.kept {
		return objects.Condition{}
	}
	return c
}

// SHA256 is a SHA-256, as hexadecimal digits in JSON.
type SHA256 = away.SHA256

func digestOf(b []byte) SHA256 { return sha256.Sum256(b) }

// Sites lists the names of the sites that the depot has, with what their pointers say. When some are damaged
// it returns the others, and an error that is ErrDamaged.
func (d *Depot) Sites(ctx context.Context) ([]Pointer, error) {
	var all []Pointer
	var damaged []error
	for info, err := range d.Store.List(ctx, pointerFolder) {
		if err != nil {
			return nil, err
		}
		name, ok := strings.CutSuffix(strings.TrimPrefix(info.Name, pointerFolder), pointerSuffix)
		if !ok {
			continue
		}
		p, _, err := d.pointer(ctx, name)
		if errors.Is(err, ErrUnknown) {
			continue // it went meanwhile
		}
		if errors.Is(err, ErrDamaged) {
			damaged = append(damaged, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, *p)
	}
	return all, errors.Join(damaged...)
}

// Marks returns for each site a text that is another one after a check-in, by a list of the pointers: one
// request for a thousand sites. Of two check-ins within the resolution of the store's clock, which is up to a
// second, it may not tell the second one.
func (d *Depot) Marks(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for info, err := range d.Store.List(ctx, pointerFolder) {
		if err != nil {
			return nil, err
		}
		name, ok := strings.CutSuffix(strings.TrimPrefix(info.Name, pointerFolder), pointerSuffix)
		if ok && name != SharedName {
			out[name] = fmt.Sprintf("%s %d %s", info.Time.UTC().Format(time.RFC3339Nano), info.Size, info.ETag)
		}
	}
	return out, nil
}
