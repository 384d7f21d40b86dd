// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// shelf is where the archives of orders lie, and the states of those that run: STATE/orders.
type shelf struct {
	*board
	options *Options
	node    string // this node; "" without a cluster
	depot   *depotShelf
	tidied  time.Time // the last look at the disk, by the goroutine that works; Patience is between two
}

// folder is where the archives of an order lie, and its state while it runs.
func (h *shelf) folder(k OrderID) (string, error) {
	dir, err := h.options.App.State()
	if k.Node == h.node {
		k.Node = "" // as before the machine was part of a cluster
	}
	return filepath.Join(dir, "orders", k.Path()), err
}

// isHere reports whether an order takes room on the disk of this node, or is likely to.
func (h *shelf) isHere(x *Ordered) bool {
	switch {
	case h.node == "":
		return true
	case x.Held != "":
		return x.Held == h.node
	case x.Claim.Node != "":
		return x.Claim.Node == h.node
	}
	return x.Node == h.node
}

// canBeHad reports whether the archives of an order that is done can be downloaded now.
func (h *shelf) canBeHad(x *Ordered) bool {
	switch {
	case h.inDepot(x):
		return true
	case h.node != "" && x.Held != h.node:
		return slices.Contains(h.options.Cluster.Members(), x.Held)
	}
	dir, err := h.folder(x.OrderID)
	for _, a := range x.Result.Archives {
		if err == nil {
			_, err = os.Stat(filepath.Join(dir, filesDir, a.Name))
		}
	}
	return err == nil
}

// inDepot reports whether the archives of an order that is done are in the depot.
func (h *shelf) inDepot(x *Ordered) bool { return h.depot.objects != nil && x.Depot != "" }

// LiesOn returns the other node on which the archives of an order lie, and whether it is part of the cluster
// now. "": they can be had from each node.
func (h *shelf) LiesOn(x *Ordered) (node string, there bool) {
	if h.node == "" || x.State != Done || x.Held == h.node || h.inDepot(x) {
		return "", true
	}
	return x.Held, h.canBeHad(x)
}

// drop removes parts of an order's folder, and the folder when all of them go.
func (h *shelf) drop(k OrderID, parts ...string) {
	dir, err := h.folder(k)
	for _, p := range parts {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, p)))
	}
	if len(parts) > 1 && err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		h.log.Error("the files of an order were not removed", "order", k.Ref(), "err", err)
	}
}

// tidy removes from the disk of a node the files of orders that others have taken over, or that are over.
// Files of unknown orders stay as long as archives do: the keepers may have lost all, and another node may
// report the order later.
func (h *shelf) tidy(now time.Time) {
	if h.node == "" || time.Since(h.tidied) < h.options.Patience {
		return
	}
	h.tidied = time.Now()
	dir, err := h.options.App.State()
	if err != nil {
		return
	}
	dir = filepath.Join(dir, "orders")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.log.Error("the files of orders cannot be listed", "err", err)
	}
	for _, e := range entries {
		ref, err := url.PathUnescape(e.Name())
		if err != nil {
			continue
		}
		k, err := h.named(ref)
		if err != nil || h.works(k) || h.counts(k, e, now) || h.isNeeded(k) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			h.log.Error("the files of an order were not removed", "order", ref, "err", err)
			h.tidied = time.Now().Add(every)
		}
	}
}

// isNeeded is counts for the stored order, which a write finds out: the local copy, and a keeper's answer,
// may be old. When it cannot be known it is needed.
func (h *shelf) isNeeded(k OrderID) bool {
	_, err := h.update(k, func(x *Ordered) error {
		if h.needs(x) {
			return errTaken
		}
		return nil
	})
	return err != nil && !errors.Is(err, ErrNone)
}

// counts reports whether what the disk of this node has of an order is needed.
func (h *shelf) counts(k OrderID, e os.DirEntry, now time.Time) bool {
	x, err := h.Get(k)
	if errors.Is(err, ErrNone) {
		fi, err := e.Info()
		return err != nil || now.Sub(fi.ModTime()) < h.keeps()
	}
	return h.needs(&x)
}

// needs reports whether this node needs its files of an order.
func (h *shelf) needs(x *Ordered) bool {
	if x.State == Done {
		return x.Held == h.node
	}
	return (x.State == Runs || x.State == Waits) && x.Claim.Node == h.node
}

// named is the key of an order as users write it.
func (h *shelf) named(ref string) (OrderID, error) {
	k, err := ParseOrderID(ref)
	if k.Node == "" {
		k.Node = h.node
	}
	return k, err
}
