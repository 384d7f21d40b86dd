// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// Records reads the record of a URL; *facts.Records does. Safe for concurrent use.
type Records interface {
	Get(u site.URL) (rec record.Resource, ok bool, err error)
}

// ManyRecords reads the records of many URLs at once; *facts.Records does. Safe for concurrent use.
type ManyRecords interface {
	// Some calls f for each of the URLs that has a record, with its place in the list.
	Some(urls []site.URL, f func(n int, rec *record.Resource) error) error
}

// Means is what a version is made with. All fields but Rules and Rests are needed.
type Means struct {
	Trees    *trees.SiteTrees
	Rules    trees.TreeRules
	Records  ManyRecords
	Renderer *render.Renderer
	Counts   *urls.Counts
	Rests    *facts.Rests // nil: documents stay as they are stored
	Now      func() time.Time
	Log      *slog.Logger
}

// Draft is a version that is being made, in the tree that is not live. Close must follow.
type Draft struct {
	plan   *VersionPlan
	by     Means
	tree   *trees.Tree
	damage damagedBodies
	kept   damagedBodies // of files that stay as they are published all the same
	result Result
	meta   []byte // phm.json, once the draft is finished
	turns
}

// Open starts the tree of a version. It takes out of the tree what the version does not have, before any
// file is made: a file may stand where a folder must come. A tree whose own file table is damaged is
// emptied.
func Open(p *VersionPlan, by Means) (d *Draft, err error) {
	d = &Draft{plan: p, by: by}
	if p.lost {
		d.tree, err = by.Trees.BuildEmpty()
		return d, err
	}
	if d.tree, err = by.Trees.Build(by.Rules); err != nil {
		return nil, err
	}
	err = d.clear()
	if errors.Is(err, disk.ErrDamaged) {
		by.Log.Warn("the tree of the version before is damaged; making it again", "err", err)
		err = d.tree.Empty()
	}
	if err != nil {
		return nil, errors.Join(err, d.tree.Close())
	}
	return d, nil
}

// clear removes the files that the version does not have. A file table that is not what phm.json beside it
// says is store.ErrDamaged.
func (d *Draft) clear() error {
	tree := d.tree.Root
	meta, err := phm.OpenMeta(tree.FS())
	if err != nil {
		if names, rerr := fs.ReadDir(tree.FS(), "."); (rerr == nil) && len(names) == 0 {
			return nil
		}
		return fmt.Errorf("%w: %v", disk.ErrDamaged, err)
	}
	t, ids := d.plan.Table, d.plan.Files
	var drop []string
	err = render.ScanTable(tree, meta, func(line *phm.File) error {
		for len(ids) > 0 && t.Path(ids[0]) < line.Path {
			ids = ids[1:]
		}
		if len(ids) == 0 || t.Path(ids[0]) != line.Path {
			drop = append(drop, line.Path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %v", disk.ErrDamaged, err)
	}
	for _, p := range drop {
		if err := d.tree.Remove(p); err != nil {
			return err
		}
	}
	return nil
}

// Build makes all files of the plan and finishes the draft. A stored body that is damaged is a *BodiesError.
func (d *Draft) Build(ctx context.Context) (*Result, error) {
	live, err := openTable(d.tree.Live)
	if err != nil {
		return nil, fmt.Errorf("file table of the published version: %w", err)
	}
	defer live.stop()
	old, err := openTable(d.tree.Root) // before Finish replaces it
	if err != nil {
		return nil, fmt.Errorf("file table of the tree: %w", err)
	}
	defer old.stop()
	res, err := d.Finish(func(add func(FileFate) error) error { return d.placeAll(ctx, live, old, add) })
	if err != nil {
		return nil, d.damage.explain(err)
	}
	return res, nil
}

// Publish makes the draft the published version. It is what readers see from then on. restores is the older
// version that it is again, 0 if it is a new one.
func (d *Draft) Publish(accepted bool, restores int) (*record.Version, error) {
	res := &d.result
	v := record.Version{
		Number:   d.plan.Meta.Version,
		Time:     d.by.Now().UTC(),
		Files:    res.Table.Files,
		Bytes:    res.Table.Bytes,
		Added:    res.Added,
		Changed:  res.Changed,
		Removed:  res.Removed,
		Accepted: accepted && (restores == 0),
		Restores: restores,
		Meta:     d.meta,
	}
	if err := d.noteRests(v.Number); err != nil {
		return nil, err
	}
	if err := d.tree.Publish(v, res.script()); err != nil {
		return nil, err
	}
	return &v, nil
}

// PublishAgain publishes a draft that differs from the published version only where that is damaged, in its
// place.
func (d *Draft) PublishAgain() error {
	live := d.plan.Live
	if len(live.Meta) > 0 {
		if err := writeFile(d.tree, phm.MetaName, live.Meta); err != nil {
			return err
		}
	}
	if err := d.tree.PublishAgain(*live, nil); err != nil {
		return err
	}
	return d.noteRests(live.Number) // not before: until then its files are the damaged ones
}

// noteRests notes what the documents of a one-off mirror have beside the files of a version.
func (d *Draft) noteRests(version int) error {
	if d.by.Rests == nil {
		return nil
	}
	return d.by.Rests.Note(version)
}

// Kept are the numbers of documents that stay as they are published, because their stored bodies are damaged
// and the site does not give them.
func (d *Draft) Kept() []uint32 { return d.kept.ids }

// Leave keeps the draft from being published. The next one starts from its files.
func (d *Draft) Leave() error {
	err := d.tree.Unchanged()
	if (err == nil) && (d.plan.Live != nil) && d.result.Same() {
		err = d.noteRests(d.plan.Live.Number) // pages came again, and make the files that are published
	}
	return err
}

func (d *Draft) Close() error { return d.tree.Close() }

func writeFile(tree *trees.Tree, name string, data []byte) error {
	w, err := tree.Create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(err, w.Close())
}

func (d *Draft) describe(table phm.Table) error {
	meta := d.plan.Meta
	meta.Retrieved = d.by.Now()
	meta.Count(table)
	meta.DescribeFormats()
	if page, err := d.tree.Root.ReadFile(meta.Entry, regular.MaxSmall); err == nil {
		meta.Describe(phm.Describe(page))
	}
	var buf bytes.Buffer
	if err := phm.WriteMeta(&buf, &meta); err != nil {
		return err
	}
	d.meta = buf.Bytes()
	return writeFile(d.tree, phm.MetaName, d.meta)
}

// FileFate is what becomes of one file of the mirror: Was is its line in the published version, nil when it
// had none at that path; Is is its line in the new one, nil when it is dropped.
type FileFate struct{ Was, Is *phm.File }

// Result says how a version differs from the published one.
type Result struct {
	Table                   phm.Table
	Added, Changed, Removed int   // files
	NewBytes                int64 // of files that the published version has not, or with other bytes
	Repaired                int   // links to other sites that lead to equivalent copies

	// Gone are the numbers of the URLs of removed files that have no other path now, and Unknown is how many
	// more have a URL without a number.
	Gone    []uint32
	Unknown int

	lost, differ bytes.Buffer // the edit script: what was dropped; what was added or changed
}

// Same reports whether the version is as the published one.
func (r *Result) Same() bool { return r.Added+r.Changed+r.Removed == 0 }

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
		r.NewBytes += c.Is.Size
		if (d.plan.Live != nil) && !d.plan.lost {
			step(&r.differ, '+', c.Is)
		}
	case !render.SameLine(c.Was, c.Is):
		r.Changed++
		if c.Was.SHA256 != c.Is.SHA256 {
			r.NewBytes += c.Is.Size
		}
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
