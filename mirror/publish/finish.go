// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"

	"mirrord/mirror/render"
	"mirrord/phm"
)

// FileFate is what becomes of one file of the mirror: Was is its line in the published version, nil when it
// had none at that path; Is is its line in the new one, nil when it is dropped.
type FileFate struct{ Was, Is *phm.File }

// Result says how a version differs from the published one.
type Result struct {
	Table                   phm.Table
	Added, Changed, Removed int // files
	Repaired                int // links to other sites that lead to equivalent copies

	// Gone are the numbers of the URLs of removed files that have no other path now, and Unknown is how many
	// more have a URL without a number.
	Gone    []uint32
	Unknown int

	lost, differ bytes.Buffer // the edit script: what was dropped; what was added or changed
}

// Same reports whether the version is as the published one.
func (r *Result) Same() bool { return r.Added+r.Changed+r.Removed == 0 }

// script is the edit script that leads back to the published version.
func (r *Result) script() []byte { return append(r.lost.Bytes(), r.differ.Bytes()...) }

// Finish completes the draft, all of whose files are placed: with its file table, its edit script and
// phm.json. changes calls add for each file of the version, by path, and for each one that is dropped; a
// line is not used after add returns. The tree's former file table is gone by then. Finish is called once.
func (d *Draft) Finish(changes func(add func(FileFate) error) error) (*Result, error) {
	w, err := d.tree.Create(phm.FilesName)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	fw := phm.NewFilesWriter(w)
	err = changes(func(c FileFate) error {
		d.count(c)
		if c.Is == nil {
			return nil
		}
		return fw.Write(c.Is)
	})
	if err != nil {
		return nil, err
	}
	if d.result.Table, err = fw.Finish(); err != nil {
		return nil, err
	}
	return &d.result, d.describe(d.result.Table)
}

// count counts a change and adds it to the edit script.
func (d *Draft) count(c FileFate) {
	r := &d.result
	if c.Is == nil {
		r.Removed++
		t := d.plan.Table
		switch id, ok := t.Find([]byte(c.Was.URL)); {
		case !ok:
			r.Unknown++
		case !t.State(id).InSet(): // else it has another path, as after the import of a flattened mirror
			r.Gone = append(r.Gone, id)
		}
		step(&r.lost, '-', c.Was)
		return
	}
	r.Repaired += render.CountRepairs(c.Is)
	switch {
	case c.Was == nil:
		r.Added++
		if (d.plan.Live != nil) && !d.plan.lost {
			step(&r.differ, '+', c.Is)
		}
	case !render.SameLine(c.Was, c.Is):
		r.Changed++
		step(&r.differ, '~', c.Was)
	}
}

// step writes one step of the edit script that leads back to the version before: '-' and '~' with the line
// that a dropped or changed file had, '+' with the line of one that was added.
func step(w *bytes.Buffer, op byte, f *phm.File) {
	if line, err := phm.AppendFile([]byte{op}, f); err == nil {
		w.Write(line)
	}
}
