// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

)

// fewLarge is how many large bodies are looked for one by one; more are found in a list of all.
const fewLarge = 16

// present checks that the objects of a manifest are in the store, which somebody may have emptied in part. A
// large body is looked for once as long as the depot is open and its epoch lasts; packs of bodies are read
// anyway.
func (d *Depot) present(ctx context.Context, m *Manifest) error {
	missing := make(map[string]int64, len(m.Segments))
	for i := range m.Segments {
		missing[m.Segments[i].Name] = m.Segments[i].Size
	}
	large := 0
	for _, name := range m.Bodies {
		if strings.HasPrefix(name, largeNames) && !d.loaded(name) {
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
		for info, err := range d.Store.List(ctx, folder) {
			if err != nil {
				return err
			}
			if size, ok := missing[info.Name]; ok && size == info.Size {
				delete(missing, info.Name)
			}
		}
	}
	for name, size := range missing { // a store may list late
		_, info, err := d.Store.Get(ctx, name, 0, 1)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: %w: %s; somebody has emptied the store, or part of it", m.Site, ErrLost, name)
		case err != nil:
			return err
		case info.Size != size:
			return fmt.Errorf("%s: %s: %w: it has %d bytes, not %d", m.Site, name, ErrDamaged, info.Size, size)
		}
	}
	return nil
}

// loaded reports whether an object of bodies was seen in this epoch.
func (d *Depot) loaded(name string) bool {
	d.mu.Lock()
	b := d.bodies
	d.mu.Unlock()
	return b != nil && b.has(name)
}

