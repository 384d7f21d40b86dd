// SPDX-License-Identifier: Apache-2.0

package look

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/app/env"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/store/record"
)

// KeptPageRequest names a page of a version that is kept.
type KeptPageRequest struct {
	Job     string
	Version int       // 0: the one that was current at At
	At      time.Time // zero: the newest one
	Path    string    // in the mirror, or a URL; "": the entry page
}

// KeptPage is a page of a version that is kept.
type KeptPage struct {
	Job      string
	Versions []record.Version // all that are kept, oldest first
	Index    int              // of the one that is meant
	Path     string
	File     *phm.File // nil: that version does not have it
	States   []int     // versions in which its state changed, oldest first; empty when File is nil
	Stamp    time.Time // names the version in the address of a Memento
}

// Version is the one that is meant.
func (k *KeptPage) Version() *record.Version { return &k.Versions[k.Index] }

// PageOf finds a page of a version.
func PageOf(ctx context.Context, a *env.App, r KeptPageRequest) (k *KeptPage, err error) {
	k = &KeptPage{Job: r.Job, Path: r.Path}
	if k.Versions, err = Versions(a, r.Job); err != nil {
		return nil, err
	}
	number := r.Version
	switch {
	case number == 0 && r.At.IsZero():
		number = k.Versions[len(k.Versions)-1].Number
	case number == 0:
		number = versionAt(k.Versions, r.At)
	}
	if k.Index = render.VersionAt(k.Versions, number); k.Index < 0 {
		return nil, env.NoVersion(r.Job, number)
	}
	k.Stamp = WebVersion(k.Version()).Time
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, st)
	if r.Path == "" {
		if meta, err := render.PublishedMeta(st, r.Job); err == nil {
			r.Path = meta.Entry
		}
	}
	p, err := OpenPast(st, r.Job, number)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if k.Path, _, k.File = locate(r.Path, p, p); k.File == nil {
		return k, nil
	}
	u, _, err := site.Parse(k.File.URL)
	if err != nil { // of another program
		return k, nil
	}
	kept := &KeptVersions{State: st}
	defer kept.Close()
	states, err := kept.History(ctx, r.Job, u)
	for _, s := range states {
		if !s.Missing {
			k.States = append(k.States, s.Number)
		}
	}
	return k, err
}

// How much of a version is searched.
const (
	mostHits   = 200
	mostTitles = 2000 // pages that are read for their titles, by one search
	keptTitles = 50_000
)

// PageTitles remembers the titles of pages by their bytes. The zero value is ready. It is safe for concurrent
// use.
type PageTitles struct {
	mu  sync.Mutex
	all map[string]string // by SHA-256
}

func (t *PageTitles) get(sum string) (title string, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	title, known = t.all[sum]
	return title, known
}

func (t *PageTitles) put(sum, title string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil || len(t.all) >= keptTitles {
		t.all = map[string]string{}
	}
	t.all[sum] = title
}

// VersionSearch is what was found in a version.
type VersionSearch struct {
	Version record.Version
	Hits    []VersionHit
	More    int // hits that are not listed
	Unread  int // pages whose titles were not looked at
}

// VersionHit is a file with the words in its address or title.
type VersionHit struct {
	Path, URL, Title string
}

// SearchVersion finds the files of a version that have all words in their paths, URLs or titles. What has
// them in its title comes first. 0 is the current version.
func SearchVersion(
	a *env.App, name string, number int, words string, titles *PageTitles,
) (*VersionSearch, error) {
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	p, err := OpenPast(st, name, number)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out := &VersionSearch{Version: p.current().Version}
	want := strings.Fields(strings.ToLower(words))
	if len(want) == 0 {
		return nil, env.Usagef("search: say what to look for")
	}
	has := func(text string) bool {
		text = strings.ToLower(text)
		return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, w) })
	}
	read := 0
	var titled, rest []VersionHit
	for _, f := range p.Files() {
		title, known := "", !isHTML(f.Type)
		if !known {
			title, known = titles.get(f.SHA256)
		}
		switch {
		case known:
		case read == mostTitles:
			out.Unread++
		default:
			read++
			if title, err = titleIn(p, f.Path); err != nil {
				return nil, err
			}
			titles.put(f.SHA256, title)
		}
		hit := VersionHit{Path: f.Path, URL: f.URL, Title: title}
		switch {
		case has(title):
			titled = append(titled, hit)
		case has(f.Path + " " + f.URL + " " + title):
			rest = append(rest, hit)
		}
	}
	out.Hits = slices.Concat(titled, rest)
	out.More = max(0, len(out.Hits)-mostHits)
	out.Hits = out.Hits[:len(out.Hits)-out.More]
	return out, nil
}

func isHTML(mime string) bool { return mime == "text/html" || mime == "application/xhtml+xml" }

// titleIn reads the title of a page.
func titleIn(p *pastTree, path string) (string, error) {
	f, err := p.Open(path)
	if err != nil {
		return "", fmt.Errorf("version %d: %s: %w", p.number, path, err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, text.TitleWithin))
	title := []rune(text.Title(head, ""))
	return string(title[:min(len(title), mostTitle)]), err
}

// mostTitle is how many characters of a title are shown.
const mostTitle = 200

// Name is the title of a hit, else its path.
func (h VersionHit) Name() string { return cmp.Or(h.Title, h.Path) }
