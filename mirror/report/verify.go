// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"

	"mirrord/archive"
	"mirrord/internal/inorder"
	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// VerifyStats say how much Verify looked at.
type VerifyStats struct {
	upkeep.Stats
	Version int   `json:"version"` // the published one, 0 without one
	Files   int   `json:"files"`   // of the published tree, right in size and digest
	Size    int64 `json:"size"`    // of those, in bytes
	Linked  int   `json:"linked"`  // documents whose links were followed
}

// Verify checks a whole site: all that the store keeps of it (store.Site.Verify), the published tree
// against its file table, that every link of its documents is as the rules of PHM want it, that relocating
// a published document again changes nothing, and that records and file table agree. Problems go to found,
// which may be nil; an error says that the check could not be made. Of a view that has become stale a body or
// file may be reported that has only been removed since. The next run requests damaged bodies again, and
// makes wrong files of the published tree again from the stored bodies.
func Verify(ctx context.Context, s *store.Site, found func(upkeep.Problem)) (VerifyStats, error) {
	var st VerifyStats
	var err error
	var damaged []string
	root, noTree := s.Trees.Current()
	var rep *phm.Report
	var treeErr error
	var tree sync.WaitGroup // the files are read while the store is, which is as much work
	if noTree == nil {
		defer root.Close()
		ctx, cancel := context.WithCancel(ctx)
		tree.Go(func() { rep, treeErr = verifyTree(ctx, root.FS(), true) })
		defer tree.Wait()
		defer cancel()
	}
	st.Stats, err = s.Verify(ctx, func(p upkeep.Problem) {
		if p.Kind == upkeep.BadBlob || p.Kind == upkeep.BadFrame {
			damaged = append(damaged, p.Subject)
		}
		if found != nil {
			found(p)
		}
	})
	if err != nil {
		return st, err
	}
	if len(damaged) > 0 {
		_ = s.Notes.NoteDamaged(damaged) // read access is enough to check, and a later check notes it
	}
	problem := func(k upkeep.ProblemKind, subject, format string, args ...any) {
		st.Problems++
		if found != nil {
			found(upkeep.Problem{Kind: k, Subject: subject, Detail: fmt.Sprintf(format, args...)})
		}
	}
	switch {
	case errors.Is(noTree, record.ErrNoVersion):
		return st, nil
	case noTree != nil:
		problem(upkeep.BadCurrent, "current", "%v", noTree)
		return st, nil
	}
	tree.Wait()
	if treeErr != nil {
		if cerr := ctx.Err(); cerr != nil {
			return st, cerr
		}
		problem(upkeep.BadTree, phm.MetaName, "%v", disk.Unreadable(treeErr))
		return st, nil
	}
	var wrong []string
	for _, p := range rep.Problems {
		if p.Err != nil {
			p.Detail = disk.Unreadable(p.Err).Error()
		}
		problem(upkeep.BadTree, p.Path, "%s: %s", p.Kind, p.Detail)
		switch p.Kind {
		case phm.Missing, phm.Unlisted, phm.NotRegular, phm.BadSize, phm.BadDigest, phm.Unreadable:
			wrong = append(wrong, p.Path)
		}
	}
	if st.Problems += rep.More; rep.More > 0 {
		wrong = append(wrong, store.AllFiles)
	}
	if len(wrong) > 0 {
		_ = s.Notes.NoteWrongFiles(wrong) // as with damaged bodies
	}
	st.Files, st.Size, st.Linked, st.Version = rep.Files, rep.Bytes, rep.Linked, rep.Meta.Version
	vs, err := s.Versions.List()
	if err == nil && len(vs) > 0 {
		live := vs[len(vs)-1]
		if rep.Meta.Version != live.Number || rep.Meta.Files != live.Files {
			problem(upkeep.BadVersion, "",
				"the published tree is version %d of %d files, the last version is %d of %d", rep.Meta.Version,
				rep.Meta.Files, live.Number, live.Files)
		}
		err = verifyRecords(ctx, s, root, live.Number, problem)
	}
	if cerr := ctx.Err(); cerr != nil {
		return st, cerr
	}
	if err != nil {
		problem(upkeep.BadDatabase, "", "%v", err)
	}
	return st, nil
}

// reportProblem reports a problem of a subject.
type reportProblem func(k upkeep.ProblemKind, subject, format string, args ...any)

// verifyRecords compares the records of the mirror with the file table of the published version.
// Records that a later run changed already are left out.
func verifyRecords(
	ctx context.Context, s *store.Site, root regular.Root, live int, problem reportProblem,
) error {
	table := map[string]phm.File{}
	shared := map[string]string{} // path of the file, by the URLs that are not its own
	f, err := root.Open(phm.FilesName)
	if err != nil {
		return err
	}
	defer f.Close()
	for line, err := range phm.Files(f) {
		if err == nil {
			for _, u := range line.Also() {
				shared[u] = line.Path
			}
			table[line.Path] = phm.File{
				URL:    line.URL,
				Type:   line.Type,
				Size:   line.Size,
				SHA256: line.SHA256,
			}
		}
	}
	own := false               // a run made the published version, or found it as it was imported
	ahead := map[string]bool{} // URLs that a later run changed
	err = s.Records.Resources(func(r *record.Resource) error {
		own = own || (r.InSet && (r.Changed > 0) && r.Changed <= live)
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.Changed > live || r.Moved > live {
			ahead[r.URL.String()] = true
			return nil
		}
		if !r.InSet {
			return nil
		}
		u := r.URL.String()
		if r.Path == "" && shared[u] != "" {
			return nil
		}
		f, ok := table[r.Path]
		delete(table, r.Path)
		switch {
		case r.Path == "" || !ok:
			problem(upkeep.BadTree, u,
				"it is in the mirror at %q, which the published tree does not have", r.Path)
		case f.URL != u:
			problem(upkeep.BadTree, r.Path, "it is the file of %s, and of %s in the file table", u, f.URL)
		case f.Type != r.MIME:
			problem(upkeep.BadTree, r.Path, "its type is %q, and %q in the file table", r.MIME, f.Type)
		case r.Body == record.BlobBody && (f.Size != r.Size || f.SHA256 != hex.EncodeToString(r.Digest[:])):
			problem(upkeep.BadTree, r.Path, "it is not the body that was stored of %s", u)
		}
		return nil
	})
	if err != nil || !own { // what was imported has no records before its first run has ended
		return err
	}
	for p, f := range table {
		if !ahead[f.URL] {
			problem(upkeep.BadTree, p, "%s is not in the mirror by its record", f.URL)
		}
	}
	return nil
}

// VerifyTree checks a PHM directory, wherever it came from: phm.Verify with the links of its documents.
func VerifyTree(ctx context.Context, fsys fs.FS) (*phm.Report, error) {
	return verifyTree(ctx, fsys, false)
}

// VerifyArchive checks a PHM that is one file, in any form of package archive, with the links of its
// documents or without.
func VerifyArchive(ctx context.Context, r io.ReaderAt, size int64, links bool) (*phm.Report, error) {
	in, err := archive.FormOf(r, size)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	if in.Verify != nil {
		rep, err := in.Verify(regular.UntilAt(ctx, r), size, AllCores())
		if err != nil {
			err = fmt.Errorf("verify: %w", err)
		}
		return rep, errors.Join(err, ctx.Err())
	}
	form, err := archive.Open(regular.UntilAt(ctx, r), size, phm.Limits{})
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	if a, ok := form.(*phm.Archive); ok {
		rep, err := phm.VerifyDelta(a)
		if !errors.Is(err, phm.ErrNotDelta) {
			return rep, errors.Join(err, ctx.Err())
		}
	}
	o := phm.VerifyOptions{}
	if links {
		urls, err := urlPaths(form)
		if err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
		o = verifyOptions(urls, false)
	}
	if _, ok := form.(*phm.Archive); ok { // other forms are read by one at a time
		o.Crew = AllCores()
	}
	rep, err := phm.Verify(form, o)
	if err == nil {
		archive.CheckSum(form, rep)
	}
	return rep, errors.Join(err, ctx.Err())
}

func verifyTree(ctx context.Context, fsys fs.FS, fixpoint bool) (*phm.Report, error) {
	urls, err := urlPaths(fsys)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	o := verifyOptions(urls, fixpoint)
	o.Crew = AllCores()
	rep, err := phm.Verify(regular.Until(ctx, fsys), o)
	if cerr := ctx.Err(); cerr != nil {
		return nil, cerr
	}
	return rep, err
}

// AllCores is a worker for each core.
func AllCores() inorder.Crew {
	return inorder.Crew{Go: func(f func()) { go f() }, Size: runtime.GOMAXPROCS(0)}
}

// verifyOptions make a check follow the links of documents. With fixpoint relocating one again must change
// nothing.
func verifyOptions(urls map[string]string, fixpoint bool) phm.VerifyOptions {
	checkers := sync.Pool{New: func() any { return render.NewPageChecker(urls, fixpoint) }}
	return phm.VerifyOptions{
		Links: func(f *phm.File, raw []byte, exists func(string) bool) []string {
			c := checkers.Get().(*render.PageChecker)
			defer checkers.Put(c)
			return c.Check(f, raw, exists)
		},
		Linked: render.Linked,
	}
}

// urlPaths returns the mirror path of every URL of a file table.
func urlPaths(fsys fs.FS) (map[string]string, error) {
	f, err := phm.OpenRegular(fsys, phm.FilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // phm.Verify says it better
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	m := map[string]string{}
	for line, err := range phm.Files(f) {
		if err == nil {
			m[line.URL] = line.Path
			for _, u := range line.Also() {
				m[u] = line.Path
			}
		}
	}
	return m, nil
}
