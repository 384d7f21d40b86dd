// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"mirrord/internal/zst"
	"mirrord/store/disk"
)

// ErrNoVersion says that nothing is published.
var ErrNoVersion = errors.New("no version is published")

// Version is one published version of a site.
type Version struct {
	Number   int       `json:"number"` // from 1
	Time     time.Time `json:"time"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Added    int       `json:"added"`
	Changed  int       `json:"changed"`
	Removed  int       `json:"removed"`
	Accepted bool      `json:"accepted,omitempty"` // published although its run was suspicious
	// the older version that this one is again, by a rollback; 0 if it is not
	Restores int    `json:"rolled_back_to,omitempty"`
	Meta     []byte `json:"meta,omitempty"` // its phm.json
}

// Pending is a publish that was decided: in any case the link moves to Tree, and Version becomes the
// published one. The next open for writing carries it out; readers treat it as done.
type Pending struct {
	Tree    string  `json:"tree"`
	Again   bool    `json:"again,omitempty"` // no other tree can be relied on
	Version Version `json:"version"`
	Script  []byte  `json:"script,omitempty"`
}

// ReadPending reads what a database has of it, nil for nothing.
func ReadPending(v []byte) (*Pending, error) { return readNote[Pending]("publish", v) }

func readNote[T any](of string, v []byte) (*T, error) {
	if v == nil {
		return nil, nil
	}
	note := new(T)
	if err := json.Unmarshal(v, note); err != nil {
		return nil, fmt.Errorf("%s: %w: %v", of, ErrValue, err)
	}
	return note, nil
}

// With returns versions, oldest first, with the one that was decided. p may be nil.
func (p *Pending) With(vs []Version) []Version {
	if p == nil {
		return vs
	}
	vs = slices.DeleteFunc(vs, func(v Version) bool { return v.Number == p.Version.Number })
	return append(vs, p.Version)
}

// Is reports whether a number, as a key, is that of the version that was decided. p may be nil.
func (p *Pending) Is(key []byte) bool {
	return (p != nil) && (len(key) == 8) && binary.BigEndian.Uint64(key) == uint64(p.Version.Number)
}

// maxScript is how many bytes of an edit script are believed.
const maxScript = 1<<31 - 1

// UnpackScript undoes PackScript. Of nothing it makes nothing.
func UnpackScript(packed []byte) ([]byte, error) {
	dec := zst.NewDecoder(maxScript)
	defer dec.Close()
	out, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("edit script: %w: %v", disk.ErrDamaged, err)
	}
	return out, nil
}

// PackScript compresses an edit script.
func PackScript(script []byte) []byte { return zst.NewEncoder(1<<20).EncodeAll(script, nil) }

// JoinScripts makes one script of two that follow one another. A line is an operation and a line of a file
// table: '-' and '~' with the file as it was before it was dropped or changed, '+' with a file that was
// added.
func JoinScripts(older, newer []byte) ([]byte, error) {
	type step struct {
		op   byte
		line []byte
	}
	steps := map[string]step{}
	var order []string
	read := func(script []byte, f func(path string, s step)) error {
		for line := range bytes.Lines(script) {
			var file struct {
				Path string `json:"path"`
			}
			if err := json.Unmarshal(line[1:], &file); err != nil {
				return fmt.Errorf("edit script: %w: %v", disk.ErrDamaged, err)
			}
			f(file.Path, step{line[0], line[1:]})
		}
		return nil
	}
	if err := read(newer, func(p string, s step) {
		steps[p] = s
		order = append(order, p)
	}); err != nil {
		return nil, err
	}
	err := read(older, func(p string, s step) {
		after, both := steps[p]
		switch {
		case !both:
			order = append(order, p)
			steps[p] = s
		case s.op == '+' && after.op == '-': // came and went
			delete(steps, p)
		case s.op == '+':
			steps[p] = step{'+', after.line}
		case s.op == '-' && after.op == '+': // went and came back
			steps[p] = step{'~', s.line}
		case after.op == '-':
			steps[p] = step{'-', s.line}
		default:
			steps[p] = step{'~', s.line}
		}
	})
	if err != nil {
		return nil, err
	}
	var out []byte
	slices.Sort(order)
	for _, p := range slices.Compact(order) {
		if s, ok := steps[p]; ok {
			out = append(append(out, s.op), s.line...)
		}
	}
	return out, nil
}
