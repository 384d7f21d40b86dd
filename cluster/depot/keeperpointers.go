// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"mirrord/cluster/objects"
	"mirrord/store/shared"
)

// keeperPointers keeps pointers with the keepers of a cluster, for a store that cannot put on a condition.
// After each change a copy goes to the store: by it readers go, which reach no keeper, and it counts when the
// keepers have lost everything. Two nodes whose check-ins of one site follow one another at once may put
// their copies in the other order; the copy is then of the check-in before, until the next one.
type keeperPointers struct {
	shared shared.KeyValues
	copies copies
}

// kindPointer is the kind of fact that a pointer is: key: name.
const kindPointer = "pointer"

// AtKeepers is what a depot says whose pointers lie with the keepers of its cluster.
const AtKeepers = "keepers"

// ErrKeepers says that only who reaches the keepers may write a depot.
var ErrKeepers = errors.New("its pointers lie with the keepers of its cluster, because its store lacks " +
	"conditions: name them (MIRRORD_CLUSTER, MIRRORD_CLUSTER_SECRET_FILE)")

// Load implements PointerStore.
func (k keeperPointers) Load(ctx context.Context, name string) ([]byte, string, error) {
	value, err := k.read(name)
	if err != nil || value != nil {
		return value, revisionOf(value), err
	}
	b, _, err := k.copies.Load(ctx, name)
	if err != nil {
		return nil, "", err
	}
	err = k.shared.Change(kindPointer, name, func(was []byte) ([]byte, error) {
		if value = was; was == nil {
			value = b
		}
		value = append([]byte(nil), value...)
		return value, nil
	})
	return value, revisionOf(value), err
}

// read returns a pointer; nil: the keepers have none.
func (k keeperPointers) read(name string) (value []byte, err error) {
	err = k.shared.Change(kindPointer, name, func(was []byte) ([]byte, error) {
		value = append([]byte(nil), was...)
		return was, nil
	})
	if len(value) == 0 {
		value = nil
	}
	return value, err
}

// revisionOf names a value: no two check-ins have the same pointer.
func revisionOf(value []byte) string {
	if value == nil {
		return ""
	}
	return digestOf(value).String()
}

// Swap implements PointerStore. The first pointer of a site is in the store before it counts, since sites are
// listed there.
func (k keeperPointers) Swap(ctx context.Context, name string, value []byte, revision string) error {
	if revision == "" {
		switch _, _, err := k.copies.Load(ctx, name); {
		case errors.Is(err, fs.ErrNotExist):
			if err := k.copies.put(ctx, name, value); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
	err := k.shared.Change(kindPointer, name, func(was []byte) ([]byte, error) {
		if revisionOf(was) != revision {
			return nil, fmt.Errorf("pointer %s: %w", name, objects.ErrCondition)
		}
		return value, nil
	})
	if err != nil {
		return err
	}
	if now, err := k.read(name); err == nil && now != nil {
		value = now
	}
	return k.copies.put(ctx, name, value)
}

// copies reads the copies of pointers.
type copies struct{ objectPointers }

func (c copies) put(ctx context.Context, name string, value []byte) error {
	_, err := c.store.Put(ctx, pointerName(name), objects.Bytes(value), objects.Condition{})
	return err
}

// Swap implements PointerStore.
func (copies) Swap(context.Context, string, []byte, string) error { return ErrKeepers }
