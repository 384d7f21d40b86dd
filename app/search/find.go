// SPDX-License-Identifier: Apache-2.0

package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/job"
	"mirrord/mirror/render"
	"mirrord/scheduler"
	"mirrord/serve"
	"mirrord/serve/find"
	"mirrord/store"
	"mirrord/store/home"
)

// FindRequest says what to look for in the texts of mirrors.
type FindRequest struct {
	Words string `json:"q"`               // words; docs/find.md says what they mean
	Job   string `json:"job,omitempty"`   // only in this mirror
	At    string `json:"at,omitempty"`    // a version of the job, or a day or time: as it was then
	Under string `json:"under,omitempty"` // only in this copy of a collection: the beginning of URLs, without a scheme
	Each  bool   `json:"each,omitempty"`  // each page is a result, also those of collections
	// results; at most 100 come
	Limit int      `json:"limit,omitempty" bounds:"0,1000,10"`
	Skip  int      `json:"skip,omitempty" bounds:"0,1000,0"` // results that were seen
	Only  []string `json:"-"`                                // only in these mirrors; nil: in all
}

// FoundTexts is what was found.
type FoundTexts struct {
	find.SearchResults
	Index    find.IndexSizes `json:"index"`
	Progress string          `json:"progress,omitempty"` // of the update of the index under way
}

// Find updates the index of texts, as far as the caller may, and searches it for pages. It makes
// the index if it is missing; from then on the daemon keeps it up to date. An error of the update, such as
// a full disk, does not stop a search of the index.
func Find(ctx context.Context, a *env.App, r FindRequest) (*FoundTexts, error) {
	if _, err := r.search(nil); err != nil {
		return nil, err
	}
	if err := find.CheckWords(r.Words); err != nil {
		return nil, FindError(err)
	}
	stopped := updateFind(ctx, a)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	st, err := a.MustState()
	if err != nil && r.Job != "" {
		err = cmp.Or(env.KnownJob(a, r.Job), err)
	}
	if err != nil {
		return nil, err
	}
	defer st.Close()
	out, err := SearchTexts(ctx, st, r)
	if errors.Is(err, find.ErrDamaged) {
		a.Warning("the index of texts is damaged; it is made again")
		if err := find.Remove(st.Dir); err != nil {
			return nil, a.NotYours(err)
		}
		if err := updateFind(ctx, a); err != nil {
			return nil, err
		}
		out, err = SearchTexts(ctx, st, r)
	}
	switch {
	case errors.Is(err, home.ErrNoSite):
		return nil, cmp.Or(env.KnownJob(a, r.Job), err)
	case err != nil && stopped != nil:
		return nil, stopped
	case stopped != nil && len(out.Behind) > 0:
		a.Warning(fmt.Sprintf("the index of texts was not updated: %v", stopped))
	}
	return out, FindError(err)
}

// DropFind deletes the index of texts: the daemon keeps none until the next search.
func DropFind(a *env.App) error {
	st, err := a.MustWriteState()
	if err != nil {
		return err
	}
	return errors.Join(a.NotYours(find.Forget(st.Dir)), st.Close())
}

// FindError gives an error of a search its kind.
func FindError(err error) error {
	switch {
	case find.IsQuery(err):
		return env.Usagef("find: %w", err)
	case errors.Is(err, find.ErrNoIndex):
		return fmt.Errorf("%w: mirrord find WORDS makes it", err)
	case errors.Is(err, find.ErrDamaged):
		return fmt.Errorf("%w: mirrord find WORDS makes it again, and so does the daemon", err)
	}
	return err
}

// search is the request as the index takes it.
func (r *FindRequest) search(families *find.Families) (s find.TextSearch, err error) {
	s = find.TextSearch{
		Words:    r.Words,
		Job:      strings.TrimSuffix(r.Job, scheduler.Suffix),
		Only:     r.Only,
		Under:    r.Under,
		Skip:     max(r.Skip, 0),
		Limit:    min(max(r.Limit, 0), mostFound),
		Families: families,
	}
	if r.Under != "" || r.Each {
		s.Families = nil
	}
	if s.Job != "" && !job.ValidName(s.Job) {
		return s, env.NotAName(r.Job)
	}
	if r.At == "" {
		return s, nil
	}
	if n, err := strconv.Atoi(r.At); err == nil {
		if s.At = n; n < 1 || s.Job == "" {
			return s, env.Usagef(
				"at %s: a version is a number from 1 on, of the mirror of one job: name the job", r.At)
		}
		return s, nil
	}
	if day, err := time.Parse(time.DateOnly, r.At); err == nil {
		s.AtTime = day.Add(24*time.Hour - time.Second)
		return s, nil
	}
	if s.AtTime, err = time.Parse(time.RFC3339, r.At); err != nil {
		return s, env.Usagef("at %s: want the number of a version, a day as 2026-03-31, or a time as "+
			"2026-03-31T12:00:00Z", r.At)
	}
	return s, nil
}

// mostFound is how many results one answer has.
const mostFound = 100

// SearchTexts looks for pages in the index of a state.
func SearchTexts(ctx context.Context, st *store.State, r FindRequest) (*FoundTexts, error) {
	search, err := r.search(findFamilies(st))
	if err != nil {
		return nil, err
	}
	if search.Job != "" {
		if err := env.IsMirror(st, search.Job); err != nil {
			return nil, err
		}
	}
	x, err := find.OpenToRead(st.Dir)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	behind, _, err := (&findUpdate{st: st, x: x}).behind(ctx)
	if err != nil {
		return nil, err
	}
	found, err := x.Search(ctx, search)
	if err != nil {
		return nil, err
	}
	found.Behind = slices.DeleteFunc(behind, func(name string) bool { return !search.In(name) })
	out := &FoundTexts{SearchResults: *found}
	out.Index, err = x.Sizes(ctx)
	return out, err
}

// findFamilies are the collections that the last mirrord replicas found.
func findFamilies(st *store.State) *find.Families {
	r, err := replicas.LoadReplicas(st.Dir)
	if err != nil {
		return nil // it is made again; without it no line is rolled up
	}
	return find.NewFamilies(r.Families)
}

// updateFind updates the index. A caller who may not write the state, or comes during another update,
// searches the index as it is.
func updateFind(ctx context.Context, a *env.App) error {
	st, err := a.MustWriteState()
	if err == nil {
		defer st.Close()
		err = IndexTexts(ctx, a, st, true)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// IndexTexts updates the index of a state, unless another process does. An index that is damaged is
// made again.
func IndexTexts(ctx context.Context, a *env.App, st *store.State, begin bool) error {
	dir := filepath.Join(st.Dir, find.Folder)
	if begin {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if !find.Wanted(st.Dir) {
		return nil
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil
	}
	err = indexOnce(ctx, a, st)
	if errors.Is(err, find.ErrDamaged) {
		a.Warning("the index of texts is damaged, or of another version of mirrord; it is made again")
		if err = find.Remove(st.Dir); err == nil {
			err = indexOnce(ctx, a, st)
		}
	}
	return err
}

func indexOnce(ctx context.Context, a *env.App, st *store.State) (err error) {
	x, err := find.Open(st.Dir)
	if err != nil {
		return err
	}
	defer env.Close(&err, x)
	f := findUpdate{
		st:   st,
		x:    x,
		said: a.Progress,
	}
	err = f.all(ctx)
	if f.texts > 0 && !errors.Is(err, find.ErrDamaged) && ctx.Err() == nil {
		err = errors.Join(err, x.Weigh(ctx, findFamilies(st)))
	}
	return err
}

// TextsOf looks for pages in the index of a state as it is, for serve.
func TextsOf(st *store.State) *serve.TextLookup {
	return &serve.TextLookup{
		Made: func() bool { return find.Wanted(st.Dir) },
		Find: func(ctx context.Context, q find.TextSearch) (*find.SearchResults, error) {
			if q.Under == "" {
				q.Families = findFamilies(st)
			}
			return searchServed(ctx, st.Dir, q, st.Sites, func(name string) bool {
				_, err := render.PublishedMeta(st, name)
				return err == nil
			})
		},
	}
}

// searchServed looks for pages in an index as it is. Of mirrors that are served, those are behind that it has
// nothing of: to read which version each of 1 000 publishes takes 20 times as long as the search.
func searchServed(
	ctx context.Context, dir string, q find.TextSearch, names func() ([]string, error),
	published func(name string) bool,
) (*find.SearchResults, error) {
	x, err := find.OpenToRead(dir)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	stands, err := x.Stands(ctx)
	if err != nil {
		return nil, err
	}
	out, err := x.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	out.Behind, err = names()
	out.Behind = slices.DeleteFunc(out.Behind, func(name string) bool {
		return stands[name].Version > 0 || !q.In(name) || !published(name)
	})
	return out, err
}
