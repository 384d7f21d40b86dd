// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/archive"
	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// getWork is the hidden folder beside the place of a one-off mirror: a state with one site. While a run goes
// on it holds everything. Afterwards it holds what only the next run needs: validators, links and what the
// pages of the mirror lack of what the site sent. The published tree and the bodies lie in the mirror alone,
// and are linked back into the folder when a run begins. No export holds the folder.
type getWork struct {
	Dir  string // of the state
	Out  string // absolute path of the mirror
	Site string // name
	Form archive.Form

	st *store.State
	s  *store.Site
}

// workOf is the folder in which the mirror at an absolute path is made.
func workOf(out string) string {
	return filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".mirrord")
}

// NotOfGet refuses a state that is the folder of a one-off mirror: all files in the mirror would seem to be
// lost.
func NotOfGet(a *env.App) error {
	dir, err := a.State()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	name, hidden := strings.CutPrefix(filepath.Base(dir), ".")
	name, work := strings.CutSuffix(name, ".mirrord")
	if (err != nil) || !hidden || !work || name == "" {
		return err
	}
	out := filepath.Join(filepath.Dir(dir), name)
	if _, err := os.Lstat(out); err != nil {
		return nil // there is no mirror, and a state may have any name
	}
	return fmt.Errorf("%s is what get keeps for its next run of %s: mirrord verify %s checks that mirror",
		dir, out, out)
}

// openWork opens the folder of a mirror, and makes it when it is not there. made says that it was not. A
// folder of which nothing can be used for these URLs is emptied first: it belongs to another mirror than the
// one at out, or is damaged.
func openWork(ctx context.Context, a *env.App, r GetRequest, out string) (w *getWork, made bool, err error) {
	w = &getWork{
		Dir:  workOf(out),
		Out:  out,
		Site: r.Job.Name,
		Form: archive.Named(out),
	}
	switch err := os.Mkdir(w.Dir, 0o700); { // pages of a login may lie in it
	case err == nil:
		made = true
	case !errors.Is(err, fs.ErrExist):
		return nil, false, err
	}
	err = w.Open(a)
	usable := false
	if err == nil {
		usable, err = w.usable(ctx, r.typed)
	}
	if errors.Is(err, disk.ErrDamaged) {
		a.Warning(fmt.Sprintf("mirrord: %s is damaged (%v): everything is requested again", w.Dir, err))
		usable, err = false, nil
	}
	if (err != nil) || usable {
		return w, made, err
	}
	w.Close()
	if err := os.RemoveAll(w.Dir); err != nil {
		return nil, false, err
	}
	if err := os.Mkdir(w.Dir, 0o700); err != nil {
		return nil, false, err
	}
	return w, true, w.Open(a)
}

// Open opens the state and the site. Without syncs: a loss of power costs this run, kill -9 does not.
func (w *getWork) Open(a *env.App) (err error) {
	if w.st, err = store.OpenState(w.Dir, store.Options{Volatile: true, OneOff: true,
		Now: a.Clock}); err != nil {
		return err
	}
	w.s, err = w.st.OpenSite(w.Site)
	return err
}

// Close lets go of the folder; closing twice is harmless.
func (w *getWork) Close() {
	if w.s != nil {
		w.s.Close()
		w.s = nil
	}
	if w.st != nil {
		w.st.Close()
		w.st = nil
	}
}

// remove closes and removes the folder.
func (w *getWork) remove() error {
	w.Close()
	return os.RemoveAll(w.Dir)
}

// usable reports whether a run can continue from the folder: it is empty, or has an unfinished first run,
// or the version that is at out, or one that was not moved there yet. With a site of another host, or other
// URLs, it belongs to another mirror.
func (w *getWork) usable(ctx context.Context, typed []string) (bool, error) {
	sites, err := w.st.Sites()
	if (err != nil) || !slices.Equal(sites, []string{w.Site}) {
		return false, err
	}
	live, err := w.Live()
	if err != nil {
		return false, err
	}
	was, err := rememberedURLs(w.s)
	switch none := live == nil && was.Typed == nil; {
	case err != nil, !none && !was.are(typed):
		return false, err
	case live == nil:
		return true, nil
	}
	if whole, err := w.hasTree(live); err != nil || whole {
		return whole, err
	}
	return w.Restore(ctx, live)
}

// Live is the published version, or nil.
func (w *getWork) Live() (*record.Version, error) {
	v, err := w.s.Versions.Last()
	if (err != nil) || v.Number == 0 {
		return nil, err
	}
	return &v, nil
}

// treeDir is the folder of the published tree, relative to that of the site.
func (w *getWork) treeDir() (string, error) { return os.Readlink(filepath.Join(w.s.Dir, "current")) }

// hasTree reports whether the published tree is in the folder. Its phm.json comes last, and leaves first.
func (w *getWork) hasTree(live *record.Version) (bool, error) {
	tree, err := w.s.Trees.Current()
	if errors.Is(err, record.ErrNoVersion) || errors.Is(err, disk.ErrDamaged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer tree.Close()
	raw, err := tree.ReadFile(phm.MetaName, regular.MaxSmall)
	return (err == nil) && bytes.Equal(raw, live.Meta), nil
}

// placed reports whether a version lies at out.
func (w *getWork) placed(live *record.Version) bool {
	if w.Form.Folder() {
		raw, err := regular.Read(filepath.Join(w.Out, phm.MetaName), int64(len(live.Meta)))
		return (err == nil) && bytes.Equal(raw, live.Meta)
	}
	f, fi, err := regular.OpenInfo(w.Out)
	if err != nil {
		return false
	}
	defer f.Close()
	tree, err := archive.Open(f, fi.Size(), phm.Limits{})
	if err != nil {
		return false
	}
	meta, err := tree.Open(phm.MetaName)
	if err != nil {
		return false
	}
	defer meta.Close()
	raw, err := io.ReadAll(io.LimitReader(meta, int64(len(live.Meta))+1))
	return (err == nil) && bytes.Equal(raw, live.Meta)
}

// Restore makes the published tree of the site again of the mirror at out, by links where it is a directory,
// and gives the site its bodies back. It reports whether the mirror is the published version. The mirror is
// not changed. The run repairs damaged and missing files.
func (w *getWork) Restore(ctx context.Context, live *record.Version) (bool, error) {
	if !w.placed(live) {
		return false, nil
	}
	name, err := w.treeDir()
	if err != nil {
		return false, err
	}
	dir := filepath.Join(w.s.Dir, name)
	if err := os.RemoveAll(dir); err != nil {
		return false, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	tree, err := regular.OpenRoot(dir)
	if err != nil {
		return false, err
	}
	defer tree.Close()
	if !w.Form.Folder() {
		if _, err := files.Unpack(ctx, w.Out, files.TreeSink{Root: tree.Root}); err != nil {
			return false, ctx.Err() // a damaged archive is made again
		}
	} else if known, err := linkTree(ctx, w.Out, dir, tree); err != nil || !known {
		return false, err
	}
	return true, w.keepBodies(tree, live)
}

// linkTree fills a folder with the files of the mirror in another one, phm.json last. Where there are no
// links, files are copied. What the mirror lacks is left out; known is false when it lacks its table.
func linkTree(ctx context.Context, from, dir string, tree regular.Root) (known bool, err error) {
	src, err := regular.OpenRoot(from)
	if err != nil {
		return false, err
	}
	defer src.Close()
	fileList, err := files.TableOf(src.FS())
	if err != nil {
		return false, nil // what lies there can only be made again
	}
	made := map[string]bool{".": true}
	one := func(p string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		fi, err := src.Lstat(p)
		if (err != nil) || !fi.Mode().IsRegular() {
			return nil
		}
		if d := path.Dir(p); !made[d] {
			if err := tree.MkdirAll(d, 0o755); err != nil {
				return err
			}
			made[d] = true
		}
		if os.Link(filepath.Join(from, p), filepath.Join(dir, p)) == nil {
			return nil
		}
		return files.CopyFile(src.FS(), tree.Root, p, "")
	}
	for p := range fileList {
		if err := one(p); err != nil {
			return false, err
		}
	}
	return true, errors.Join(one(phm.FilesName), one(phm.MetaName))
}

// keepBodies gives the bodies that lie only in the tree their names back, if they are what they should be.
func (w *getWork) keepBodies(tree regular.Root, live *record.Version) error {
	bodies := map[string][32]byte{}
	err := w.s.Records.Resources(func(rec *record.Resource) error {
		if rec.Body == record.BlobBody {
			bodies[fmt.Sprintf("%x", rec.Digest)] = rec.Digest
		}
		return nil
	})
	if err != nil {
		return err
	}
	l := &disk.OpenDirs{Root: tree, Look: true}
	defer l.Close()
	err = render.ScanTable(tree, render.MetaOf(live), func(f *phm.File) error {
		digest, ok := bodies[f.SHA256]
		if !ok {
			return nil
		}
		if st, err := render.LookAt(l, f, live, false); err != nil || !st.Good {
			return err
		}
		return w.st.Bodies.PutFile(digest, tree, f.Path)
	})
	if errors.Is(err, disk.ErrDamaged) {
		return nil // the run repairs the table, and requests the missing bodies
	}
	return err
}

// place moves the published version to out, unless what lies there is the same to the last file.
func (w *getWork) place(ctx context.Context, published bool) error {
	if !published {
		same, err := w.same()
		if (err != nil) || same {
			return err
		}
	}
	return files.Place(ctx, w.s, w.Out)
}

// same reports whether the mirror at out is untouched: all files of the published tree are there with their
// size and time.
func (w *getWork) same() (bool, error) {
	live, err := w.Live()
	if (err != nil) || live == nil || !w.placed(live) {
		return false, err
	}
	if !w.Form.Folder() {
		return true, nil // it was read as a whole
	}
	tree, err := w.s.Trees.Current()
	if err != nil {
		return false, err
	}
	defer tree.Close()
	dst, err := regular.OpenRoot(w.Out)
	if err != nil {
		return false, err
	}
	defer dst.Close()
	same := true
	err = render.ScanTable(tree, nil, func(f *phm.File) error {
		same = same && files.SameFile(tree.FS(), dst.Root, f.Path)
		return nil
	})
	return same && files.SameFile(tree.FS(), dst.Root, phm.FilesName), err
}

// putAway leaves in the folder what only the next run needs, and closes it.
func (w *getWork) putAway(ctx context.Context) error {
	err := w.s.Records.Rests().Settle()
	live, lerr := w.Live()
	if err = errors.Join(err, lerr); (err == nil) && live != nil && live.Number > 1 {
		_, err = w.s.Compact(ctx, false)
	}
	tree, terr := w.treeDir()
	dir := w.s.Dir
	w.Close()
	if terr == nil { // a tree that has lost files must not look whole when this is cut short
		terr = os.Remove(filepath.Join(dir, tree, phm.MetaName))
	}
	if (terr != nil) && !errors.Is(terr, fs.ErrNotExist) {
		return errors.Join(err, terr)
	}
	return errors.Join(err,
		os.RemoveAll(filepath.Join(dir, "trees")),
		os.RemoveAll(filepath.Join(w.Dir, "blobs")))
}

// finished returns the version of a complete run that was interrupted before it was moved to its place, or
// nil.
func (w *getWork) finished(now time.Time) (*record.Version, error) {
	run, err := w.s.Notes.Run()
	if err != nil || run != nil {
		return nil, err
	}
	v, err := w.Live()
	if (err != nil) || v == nil {
		return nil, err
	}
	if age := now.Sub(v.Time); age < 0 || age > finishedFor || w.placed(v) {
		return nil, nil
	}
	return v, nil
}

// gotURLs is the record of the URLs of a mirror without a job file.
type gotURLs struct {
	Typed []string `json:"typed"`          // as they were given
	URLs  []string `json:"urls,omitempty"` // where they lead, when that is followed
}

// are reports whether the URLs are those that were typed, or those that they were found to lead to, however
// they are spelled.
func (g *gotURLs) are(typed []string) bool {
	t := spelled(typed)
	return slices.Equal(spelled(g.Typed), t) || slices.Equal(spelled(g.URLs), t)
}

// spelled returns URLs as a run requests them.
func spelled(urls []string) (out []string) {
	for _, raw := range urls {
		if u, _, err := site.Parse(raw); err == nil {
			raw = u.String()
		}
		out = append(out, raw)
	}
	return out
}

// gotFact is the name under which a site keeps them.
const gotFact = "get"

// rememberURLs keeps what was typed for a site, and what was made of it.
func rememberURLs(s *store.Site, r GetRequest) error {
	u := gotURLs{Typed: r.typed}
	if !slices.Equal(r.typed, r.Job.URLs) {
		u.URLs = r.Job.URLs
	}
	v, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return s.Notes.SetFact(gotFact, v)
}

// rememberedURLs reads them; a site without any has empty ones.
func rememberedURLs(s *store.Site) (u gotURLs, err error) {
	v, err := s.Notes.Fact(gotFact)
	if (err == nil) && v != nil {
		err = json.Unmarshal(v, &u)
	}
	return u, err
}
