// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"

	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// SampleOptions say what of a site Sample reads, and how fast.
type SampleOptions struct {
	upkeep.Sampling
	// Look looks at names, sizes and times of all published files; without it only at those that are read.
	Look bool
	Also func(path string) bool // published files that are read besides; nil: none
}

// SampleStats say how much Sample looked at.
type SampleStats struct {
	upkeep.Stats
	Version int   `json:"version"` // the published one, 0 without one
	Looked  int   `json:"looked"`  // published files that were looked at
	Files   int   `json:"files"`   // of those, read
	Size    int64 `json:"size"`    // bytes of published files that were read
}

// Sample is Verify for a share of the stored bodies and published files, with the whole database and its log.
// It follows no links. What it finds damaged is added to what earlier checks noted for the next run.
func Sample(
	ctx context.Context, s *store.Site, o SampleOptions, found func(upkeep.Problem),
) (SampleStats, error) {
	x := &sampler{
		site:     s,
		ctx:      ctx,
		sampling: o,
		found:    found,
	}
	var err error
	x.st.Stats, err = s.Sample(ctx, o.Sampling, func(p upkeep.Problem) {
		if p.Kind == upkeep.BadBlob || p.Kind == upkeep.BadFrame {
			x.damaged = append(x.damaged, p.Subject)
		}
		if found != nil {
			found(p)
		}
	})
	if err == nil {
		err = x.tree()
	}
	if nerr := x.note(); err == nil && !errors.Is(nerr, os.ErrPermission) { // read access is enough to check
		err = nerr
	}
	return x.st, err
}

type sampler struct {
	site     *store.Site
	ctx      context.Context
	sampling SampleOptions
	found    func(upkeep.Problem)
	st       SampleStats
	damaged  []string // URLs
	wrong    []string // paths of published files
}

func (x *sampler) problem(k upkeep.ProblemKind, subject, detail string) {
	x.st.Problems++
	if x.found != nil {
		x.found(upkeep.Problem{Kind: k, Subject: subject, Detail: detail})
	}
}

// note adds the findings to the notes for the next run.
func (x *sampler) note() error {
	var err error
	if len(x.damaged) > 0 {
		var known []string
		if known, err = x.site.Notes.Damaged(); err == nil {
			err = x.site.Notes.NoteDamaged(append(known, x.damaged...))
		}
	}
	if len(x.wrong) > 0 && err == nil {
		var known []string
		if known, err = x.site.Notes.WrongFiles(); err == nil {
			err = x.site.Notes.NoteWrongFiles(append(known, x.wrong...))
		}
	}
	return err
}

// tree looks at the published tree.
func (x *sampler) tree() error {
	vs, err := x.site.Versions.List()
	if err != nil || len(vs) == 0 {
		return nil // the database says so
	}
	live := &vs[len(vs)-1]
	x.st.Version = live.Number
	root, err := x.site.Trees.Current()
	if err != nil {
		x.problem(upkeep.BadCurrent, "current", err.Error())
		return nil
	}
	defer root.Close()
	meta := render.MetaOf(live)
	raw, err := root.ReadFile(phm.MetaName, regular.MaxSmall)
	switch {
	case err != nil:
		x.problem(upkeep.BadTree, phm.MetaName, err.Error())
	case meta != nil && !bytes.Equal(raw, live.Meta):
		x.problem(upkeep.BadTree, phm.MetaName, "it is not that of the published version")
	}
	l := &disk.OpenDirs{Root: root, Look: true}
	defer l.Close()
	err = render.ScanTable(root, meta, func(f *phm.File) error { return x.file(root, l, f, live) })
	if errors.Is(err, disk.ErrDamaged) {
		x.problem(upkeep.BadTree, phm.FilesName, err.Error())
		return nil
	}
	return err
}

// isBody reports whether a published file is a stored body, which is read as such.
func (x *sampler) isBody(root regular.Root, f *phm.File) bool {
	d, err := hex.DecodeString(f.SHA256)
	return err == nil && len(d) == 32 && x.site.Trees.IsBody(root, f.Path, [32]byte(d))
}

// file looks at one published file, and reads it if its turn has come.
func (x *sampler) file(root regular.Root, l *disk.OpenDirs, f *phm.File, live *record.Version) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	also := x.sampling.Also != nil && x.sampling.Also(f.Path)
	read := also || x.sampling.Pick == nil || x.sampling.Pick(f.URL)
	if !read && !x.sampling.Look {
		return nil
	}
	if read && !also && x.st.Records > 0 && x.isBody(root, f) { // an import has no records before its first run
		read = false
	}
	if read && x.sampling.Spend != nil {
		if err := x.sampling.Spend(f.Size); err != nil {
			return err
		}
	}
	state, err := render.LookAt(l, f, live, read)
	if err != nil {
		x.problem(upkeep.BadTree, f.Path, err.Error())
		return nil
	}
	x.st.Looked++
	if read {
		x.st.Files++
		x.st.Size += f.Size
	}
	if !state.Good {
		x.wrong = append(x.wrong, f.Path)
		x.problem(upkeep.BadTree, f.Path, "it is missing, or not what its line in phm.files says")
	}
	return nil
}
