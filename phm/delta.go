// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
)

// deltaFormat is the format version of a delta's phm.json: programs that read no deltas refuse it.
const deltaFormat = 2

var (
	// ErrDelta says that an archive is a delta, which is no set by itself.
	ErrDelta = errors.New(
		"a delta, which is only the difference to another archive; mirrord import --delta puts the " +
			"two together")
	// ErrNotDelta says that an archive is no delta.
	ErrNotDelta = errors.New("not a delta archive")
	// ErrBase says that a delta builds on another archive.
	ErrBase = errors.New("the delta does not fit")
	// ErrBaseDamaged says that a file of the archive that a delta is to build on is damaged.
	ErrBaseDamaged = fmt.Errorf("base: %w", ErrDamaged)
)

// A Delta is what the phm.json of a delta archive says. A delta archive is one whose phm.files has only the
// lines of the target's table that the base does not have, and whose files are those whose bytes the base
// does not have. Both lie there as they do in the target.
type Delta struct {
	Format    int         `json:"phm"` // deltaFormat
	Generator string      `json:"generator,omitempty"`
	Title     string      `json:"title,omitempty"`
	Base      DeltaBase   `json:"base"`
	Target    DeltaTarget `json:"target"`
	// lines of the base's table that go: the first, from 0, and how many
	Removed [][2]int `json:"removed,omitempty"`
	Meta    string   `json:"delta"` // phm.json of the target, byte for byte
	// of an update: what the origin said of the encoding of files, by path
	Charsets map[string]string `json:"charsets,omitempty"`

	Lines  int `json:"-"` // of the target's table that the base does not have
	Bodies int `json:"-"` // files that the base does not have
	Gone   int `json:"-"` // lines of the base's table that go
}

// DeltaBase says which archive a delta builds on.
type DeltaBase struct {
	Primary  string `json:"primary,omitempty"`
	Version  int    `json:"version,omitempty"`
	TableSum string `json:"tableSHA256"`
}

// DeltaTarget says what the base and the delta give together.
type DeltaTarget struct {
	Version int    `json:"version,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`  // of the archive
	SHA256  string `json:"sha256,omitempty"` // likewise; both are missing in an update
}

func (b DeltaBase) String() string {
	return fmt.Sprintf("version %d of %s (table %.12s)", b.Version, b.Primary, b.TableSum)
}

// baseOf says what an archive is as a base.
func baseOf(m *Meta) DeltaBase {
	return DeltaBase{Primary: m.Primary, Version: m.Version, TableSum: m.TableSum}
}

// ReadDelta reads what a delta archive says of itself. It fails with ErrNotDelta for every other archive.
func ReadDelta(a *Archive) (*Delta, error) {
	d, err := readDelta(a)
	if err == nil && !isDigest(d.Target.SHA256) {
		return nil, ErrNotDelta
	}
	return d, err
}

// readDelta reads that of an update, too.
func readDelta(a *Archive) (*Delta, error) {
	f, err := OpenRegular(a, MetaName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf, err := io.ReadAll(io.LimitReader(f, 2*maxMeta+1))
	if err == nil && len(buf) > 2*maxMeta {
		err = fmt.Errorf("it has more than %d bytes", 2*maxMeta)
	}
	d := new(Delta)
	if err == nil {
		err = json.Unmarshal(buf, d)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w: %w", MetaName, ErrNotDelta, err)
	case d.Format > deltaFormat:
		return nil, fmt.Errorf("read %s: %w: it is %d, this program reads up to %d", MetaName, ErrNewer, d.Format,
			deltaFormat)
	case d.Format != deltaFormat, d.Meta == "", !isDigest(d.Base.TableSum):
		return nil, ErrNotDelta
	}
	last := -1
	for _, r := range d.Removed {
		if r[0] <= last || r[1] < 1 || r[0] > math.MaxInt32 || r[1] > math.MaxInt32 {
			return nil, fmt.Errorf("read %s: %w: removed lines [%d, %d] behind line %d", MetaName, ErrDamaged, r[0],
				r[1], last)
		}
		last = r[0] + r[1] - 1
		d.Gone += r[1]
	}
	return d, nil
}

// write writes the phm.json of a delta.
func (d *Delta) write() ([]byte, error) {
	buf, err := marshalWith(d, nil)
	if err == nil && len(buf) > 2*maxMeta {
		err = fmt.Errorf("%s: it would have more than %d bytes: too many files go one by one; export all", MetaName,
			2*maxMeta)
	}
	return buf, err
}

// isDelta reports whether a phm.json of the version after the newest is that of a delta.
func isDelta(format int, buf []byte) bool {
	var d struct {
		Meta *string `json:"delta"`
	}
	return format == deltaFormat && json.Unmarshal(buf, &d) == nil && d.Meta != nil
}

// targetTree returns what the target is, with its phm.json and phm.files: the table of the base without the
// lines that go, and with those of the delta, of which one takes the place of the base's for its path.
func (d *Delta) targetTree(base, delta fs.FS) (*Meta, memoryTree, error) {
	tree := memoryTree{MetaName: []byte(d.Meta)}
	m, err := OpenMeta(tree)
	if err != nil {
		return nil, nil, err
	}
	next, stop := iter.Pull2(tableOf(delta))
	defer stop()
	line, err, more := next()
	var table []byte
	add := func(f *File) (err error) {
		if table, err = AppendFile(table, f); err == nil && int64(len(table)) > m.TableBytes {
			err = fmt.Errorf("%w: more than %d bytes of %s come of it", ErrDamaged, m.TableBytes, FilesName)
		}
		return err
	}
	at, removed := 0, d.Removed
	for f, ferr := range tableOf(base) {
		for ferr == nil && err == nil && more && line.Path < f.Path {
			if err = add(line); err == nil {
				line, err, more = next()
			}
		}
		if err = errors.Join(err, ferr); err != nil {
			return nil, nil, err
		}
		if len(removed) > 0 && at >= removed[0][0]+removed[0][1] {
			removed = removed[1:]
		}
		goes := len(removed) > 0 && at >= removed[0][0]
		at++
		if goes || (more && line.Path == f.Path) {
			continue
		}
		if err := add(f); err != nil {
			return nil, nil, err
		}
	}
	for err == nil && more {
		if err = add(line); err == nil {
			line, err, more = next()
		}
	}
	tree[FilesName] = table
	return m, tree, err
}
