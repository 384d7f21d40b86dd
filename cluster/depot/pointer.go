// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"mirrord/cluster/objects"
)

// PointerStore keeps small values that are replaced by compare-and-swap. Its methods may be called from
// several goroutines.
type PointerStore interface {
	// Load returns a value and its revision; fs.ErrNotExist when it is missing.
	Load(ctx context.Context, name string) (value []byte, revision string, err error)
	// Swap replaces a value whose revision is the given one; "" means that there must be none. Else it is
	// objects.ErrCondition. After any other error the value may have been replaced or not.
	Swap(ctx context.Context, name string, value []byte, revision string) error
}

// objectPointers keeps pointers as objects of a store that can put on a condition.
type objectPointers struct{ store objects.Store }

// Names of pointers in a store.
const (
	pointerFolder = "sites/"
	pointerSuffix = ".json"
	epochName     = "epoch"
)

func pointerName(name string) string {
	if name == epochName {
		return name + pointerSuffix
	}
	return pointerFolder + name + pointerSuffix
}

// Load implements PointerStore.
func (p objectPointers) Load(ctx context.Context, name string) ([]byte, string, error) {
	b, info, err := p.store.Get(ctx, pointerName(name), 0, objects.MaxGet)
	return b, info.ETag, err
}

// Swap implements PointerStore.
func (p objectPointers) Swap(ctx context.Context, name string, value []byte, revision string) error {
	c := objects.Condition{ETag: revision, New: revision == ""}
	_, err := p.store.Put(ctx, pointerName(name), objects.Bytes(value), c)
	return err
}

// Pointer says which manifest of a site counts.
type Pointer struct {
	Format   int       `json:"format"`
	Cluster  string    `json:"cluster"`
	Site     string    `json:"site"`
	Token    uint64    `json:"token"`    // of the owner who checked it in: never smaller than the one before
	Sequence uint64    `json:"sequence"` // of check-ins of the site, from 1
	Manifest string    `json:"manifest"` // name of the object
	SHA256   SHA256    `json:"sha256"`   // of the manifest as it is stored
	Checkin  string    `json:"checkin"`  // by which a check-in whose answer was lost knows its own
	Machine  string    `json:"machine"`
	Time     time.Time `json:"time"`
	Version  int       `json:"version"`           // published, 0 for none
	Bytes    int64     `json:"bytes"`             // of the site's files
	Removed  bool      `json:"removed,omitempty"` // the depot no longer has the site
}

// pointer reads the pointer of a site; ErrUnknown without one. Of one that is damaged, which is
// ErrDamaged, it returns the revision, by which it can be replaced; of a site that was removed, which is
// ErrRemoved, the pointer too.
func (d *Depot) pointer(ctx context.Context, site string) (*Pointer, string, error) {
	b, revision, err := d.Pointers.Load(ctx, site)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s: %w", site, ErrUnknown)
	}
	if err != nil {
		return nil, "", err
	}
	p := new(Pointer)
	if err := json.Unmarshal(b, p); err != nil || p.Site != site || p.Sequence == 0 {
		return nil, revision, fmt.Errorf("pointer of %s: %w: %q; push --again replaces it, on the machine that "+
			"had the mirror last", site, ErrDamaged, b[:min(len(b), 80)])
	}
	if p.Format > Version && !(p.Format == removedFormat && p.Removed) {
		return nil, "", fmt.Errorf("pointer of %s: written by a newer mirrord (format %d): use that one", site,
			p.Format)
	}
	if p.Cluster != d.Cluster {
		return nil, "", fmt.Errorf("pointer of %s: %w: %s, and the depot is of %s; give each cluster a prefix of "+
			"its own", site, ErrForeign, p.Cluster, d.Cluster)
	}
	if p.Removed {
		return p, revision, p.removedError()
	}
	return p, revision, nil
}

// move replaces the pointer of a site. An answer that was lost is no failure when the pointer is ours.
func (d *Depot) move(ctx context.Context, p *Pointer, revision string) error {
	value, err := json.Marshal(p)
	if err != nil {
		return err
	}
	for range 3 { // a server may answer "conflict" to one who would have won
		err = d.Pointers.Swap(ctx, p.Site, value, revision)
		if err == nil {
			return nil
		}
		now, is, lerr := d.Pointers.Load(ctx, p.Site)
		switch {
		case lerr == nil && bytes.Equal(now, value):
			return nil
		case errors.Is(lerr, fs.ErrNotExist):
			is = ""
		case lerr != nil:
			return errors.Join(err, lerr)
		}
		if !errors.Is(err, objects.ErrCondition) {
			return err
		}
		if is != revision {
			return fmt.Errorf("%s: %w: another machine was faster; its state counts", p.Site, ErrDiverged)
		}
	}
	return err
}

// readManifest reads the manifest that a pointer names.
func readManifest(ctx context.Context, from objects.Store, p *Pointer) (*Manifest, error) {
	packed, _, err := objects.ReadAll(ctx, from, p.Manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: its manifest %s; the store, or part of it, was emptied",
			p.Site, ErrLost, p.Manifest)
	}
	if err != nil {
		return nil, err
	}
	if digestOf(packed) != p.SHA256 {
		return nil, fmt.Errorf("%s: its manifest %s: %w", p.Site, p.Manifest, ErrDamaged)
	}
	m, err := decodeManifest(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: its manifest %s: %w: %w", p.Site, p.Manifest, ErrDamaged, err)
	}
	return m, nil
}

// fewLarge is how many large bodies are looked for one by one; more are found in a list of all.
const fewLarge = 16

// present checks that the objects of a manifest are in the store, which may have been emptied in part. A
// large body is looked for once as long as the depot is open and its epoch lasts; packs of bodies are read
// anyway.
func present(ctx context.Context, in objects.Store, known *knownBodies, m *Manifest) error {
	missing := make(map[string]int64, len(m.Segments))
	for i := range m.Segments {
		missing[m.Segments[i].Name] = m.Segments[i].Size
	}
	large := 0
	for _, name := range m.Bodies {
		if strings.HasPrefix(name, largeNames) && !known.loaded(name) {
			_, p, err := parseLarge(name)
			if err != nil {
				return err
			}
			missing[name] = p.size
			large++
		}
	}
	folders := []string{"data/" + m.Site + "/"}
	if large > fewLarge {
		folders = append(folders, largeNames)
	}
	for _, folder := range folders {
		for info, err := range in.List(ctx, folder) {
			if err != nil {
				return err
			}
			if size, ok := missing[info.Name]; ok && size == info.Size {
				delete(missing, info.Name)
			}
		}
	}
	for name, size := range missing { // a store may list late
		_, info, err := in.Get(ctx, name, 0, 1)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: %w: %s; the store, or part of it, was emptied", m.Site, ErrLost, name)
		case err != nil:
			return err
		case info.Size != size:
			return fmt.Errorf("%s: %s: %w: it has %d bytes, not %d", m.Site, name, ErrDamaged, info.Size, size)
		}
	}
	return nil
}
