// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mirrord/app/daemon"
	"mirrord/app/replicas"
	"mirrord/app/search"
	"mirrord/serve/find"
)

// TextIndex is what the console asks of the index of texts, and of known replicas.
// *daemon.KeptIndex has it.
type TextIndex interface {
	// Find looks for pages in the index as it is.
	Find(ctx context.Context, r search.FindRequest) (*search.FoundTexts, error)
	// Wanted reports whether there is an index, or one is being made.
	Wanted() bool
	// Begin makes the index.
	Begin() error
	// Replicas are those that were found last; fs.ErrNotExist before the first comparison.
	Replicas() (*replicas.KnownReplicas, error)
}

// perFind is how many results a page has.
const perFind = 10

// findView is what the page Search shows.
type findView struct {
	Ask     search.FindRequest
	Wanted  bool
	Problem string
	Found   *search.FoundTexts
	Rows    []foundRow
	Page    int
	Pages   int
}

// foundRow is a result.
type foundRow struct {
	*find.FoundPage
	Link   string
	Mirror string // its title, or the job
}

// findPage looks for words.
func findPage(v *visit) error {
	f := findView{
		Ask: search.FindRequest{
			Words: v.r.FormValue("q"),
			Job:   v.r.FormValue("job"),
			At:    strings.TrimSpace(v.r.FormValue("at")),
			Under: v.r.FormValue("under"),
			Limit: perFind,
		},
		Wanted: v.Texts.Wanted(),
	}
	asked := v.r.Form.Has("q")
	page, _ := strconv.Atoi(v.r.FormValue("page"))
	f.Page = min(max(page, 1), 100)
	f.Ask.Skip = (f.Page - 1) * perFind
	if !f.Wanted || !asked {
		return v.show("find.html", "Search", f)
	}
	found, err := v.Texts.Find(v.r.Context(), f.Ask)
	switch {
	case isUsage(err):
		f.Problem = err.Error()
		f.Ask.Words = f.Ask.Words[:min(len(f.Ask.Words), 200)]
		return v.draw(http.StatusUnprocessableEntity, "find.html", "Search", f)
	case errors.Is(err, find.ErrNoIndex), errors.Is(err, find.ErrDamaged):
		f.Problem = "Nothing is searched yet: the index is being made. Come back in some minutes."
		return v.draw(http.StatusServiceUnavailable, "find.html", "Search", f)
	case err != nil:
		return err
	}
	f.Found = found
	f.Pages = max(f.Page, (found.Lines+perFind-1)/perFind)
	var jobs []string
	for i := range found.Results {
		jobs = append(jobs, found.Results[i].Job)
	}
	titles := v.Daemon.Titles(jobs)
	for i := range found.Results {
		f.Rows = append(f.Rows, foundRowOf(v, &found.Results[i], titles))
	}
	return v.show("find.html", "Search", f)
}

func foundRowOf(v *visit, p *find.FoundPage, titles map[string]daemon.MirrorTitle) foundRow {
	r := foundRow{
		FoundPage: p,
		Link:      jobPath(p.Job, "explain") + "?url=" + url.QueryEscape(p.URL),
		Mirror:    cmp.Or(titles[p.Job].Title, p.Job),
	}
	if v.Mirrors != "" && !p.Gone {
		r.Link = v.Mirrors + "/" + p.Job + "/" + escapePath(p.Path)
	}
	return r
}

// beginFind makes the index of texts.
func beginFind(v *visit) error {
	return v.done(act{}, v.Texts.Begin(), "/find")
}

// replicasView is what the page Replicas shows.
type replicasView struct {
	Known       *replicas.KnownReplicas // nil before the first comparison
	Problem     string
	Collections []collectionRow
	More        int // collections and pairs that are not shown
}

// collectionRow is a collection, and what it would save to have it once.
type collectionRow struct {
	replicas.ReplicaCollection
	Number int
	Again  int // pages of the other copies that the first one has too
}

// replicasPage shows families of hosts and collections.
func replicasPage(v *visit) error {
	var r replicasView
	known, err := v.Texts.Replicas()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.Problem = err.Error()
	default:
		r.Known = known
		for i, c := range known.Clusters {
			row := collectionRow{ReplicaCollection: c, Number: i + 1}
			for _, cp := range c.Copies[min(1, len(c.Copies)):] {
				row.Again += cp.Shared
			}
			r.Collections = append(r.Collections, row)
		}
		r.More = max(0, len(known.Families)-len(known.Clusters))
	}
	return v.show("replicas.html", "Duplicates", r)
}
