// SPDX-License-Identifier: Apache-2.0

package takedown

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// remaking makes versions again, from the oldest on.
type remaking struct {
	without *render.Without
	gone    func(url string) bool
	erasure *facts.Erasure

	last    []phm.File // of the version before
	first   bool       // last is known
	changed bool       // the version before is not what it was

	lost []phm.MissingURL // what the version lacks from now on, and is to say so; nil: it says nothing
}

// past makes a version again that is not the published one.
func (r *remaking) past(ctx context.Context, v record.Version) error {
	rest, err := r.without.Version(ctx, v.Number, false, nil)
	if err != nil {
		return err
	}
	changed, err := r.version(&v, &rest)
	if err == nil && changed {
		r.erasure.Versions = append(r.erasure.Versions, v)
	}
	return err
}

// version reduces the kept data of a version to the rest, and reports whether anything is different.
func (r *remaking) version(v *record.Version, rest *render.Rest) (changed bool, err error) {
	defer func() { r.last, r.first, r.changed = rest.Files, true, !rest.Same }()
	changed = !rest.Same
	if r.first && (changed || r.changed) {
		script, added, altered, removed := steps(r.last, rest.Files)
		r.erasure.Scripts[v.Number] = script
		v.Added, v.Changed, v.Removed = added, altered, removed
		changed = true
	}
	if rest.Same {
		return changed, nil
	}
	if !r.first && v.Added == v.Files {
		v.Added = len(rest.Files)
	}
	v.Files, v.Bytes = len(rest.Files), 0
	for i := range rest.Files {
		v.Bytes += rest.Files[i].Size
	}
	return true, r.meta(v, rest.Files)
}

// ErrNothingLeft says that a version would lose all its pages.
var ErrNothingLeft = errors.New("nothing would be left")

// meta makes phm.json of a version again.
func (r *remaking) meta(v *record.Version, files []phm.File) error {
	m := render.MetaOf(v)
	if m == nil {
		return nil
	}
	table, err := writeTable(io.Discard, files)
	if err != nil {
		return err
	}
	m.Count(table)
	m.DescribeFormats()
	m.Failed = slices.DeleteFunc(m.Failed, func(f phm.MissingURL) bool { return r.gone(f.URL) })
	m.Failed = append(m.Failed, r.lost...)
	m.Failures += len(r.lost)
	m.Gaps = slices.DeleteFunc(m.Gaps, func(g phm.Lacking) bool { return g.URL != "" && r.gone(g.URL) })
	there := func(path string) bool {
		return slices.ContainsFunc(files, func(f phm.File) bool { return f.Path == path })
	}
	if !there(m.Entry) {
		page := slices.IndexFunc(files, func(f phm.File) bool { return strings.Contains(f.Type, "html") })
		if page < 0 {
			return fmt.Errorf("%w of version %d: mirrord remove deletes a mirror", ErrNothingLeft, v.Number)
		}
		m.Entry = files[page].Path
		m.Title, m.Authors, m.Copyright, m.Abstract = "", nil, "", ""
	}
	var buf bytes.Buffer
	if err := phm.WriteMeta(&buf, m); err != nil {
		return err
	}
	v.Meta = buf.Bytes()
	return nil
}

// steps returns the edit script that leads from one version back to the one before, and how many files came,
// changed and went.
func steps(before, now []phm.File) (script []byte, added, changed, removed int) {
	step := func(op byte, f *phm.File) {
		if line, err := phm.AppendFile([]byte{op}, f); err == nil {
			script = append(script, line...)
		}
	}
	i, j := 0, 0
	for i < len(before) || j < len(now) {
		switch {
		case j == len(now) || (i < len(before) && before[i].Path < now[j].Path):
			step('-', &before[i])
			i, removed = i+1, removed+1
		case i == len(before) || now[j].Path < before[i].Path:
			step('+', &now[j])
			j, added = j+1, added+1
		default:
			if !render.SameLine(&before[i], &now[j]) {
				step('~', &before[i])
				changed++
			}
			i, j = i+1, j+1
		}
	}
	return script, added, changed, removed
}

func writeTable(w io.Writer, files []phm.File) (phm.Table, error) {
	fw := phm.NewFilesWriter(w)
	for i := range files {
		if err := fw.Write(&files[i]); err != nil {
			return phm.Table{}, err
		}
	}
	return fw.Finish()
}

// describe writes phm.files and phm.json of a version into its tree.
func describe(tree *trees.Tree, v *record.Version, files []phm.File) error {
	w, err := tree.Create(phm.FilesName)
	if err != nil {
		return err
	}
	_, err = writeTable(w, files)
	if err = errors.Join(err, w.Close()); err != nil || len(v.Meta) == 0 {
		return err
	}
	if w, err = tree.Create(phm.MetaName); err != nil {
		return err
	}
	_, err = w.Write(v.Meta)
	return errors.Join(err, w.Close())
}
