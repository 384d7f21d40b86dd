// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/look"
	"mirrord/internal/count"
	"mirrord/scheduler/status"
	"mirrord/store/home"
	"mirrord/store/record"
)

// feedLength is how many entries a feed has.
const feedLength = 50

// atomFeed is RFC 4287.
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Links   []atomLink  `xml:"link"`
	Author  string      `xml:"author>name"`
	Entries []atomEntry `xml:"entry"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary"`
}

type atomLink struct {
	Rel string `xml:"rel,attr,omitempty"`
	To  string `xml:"href,attr"`
}

// base is the address of the console as the client wrote it. The host was checked.
func (v *visit) base() string {
	if g := access.GuestOf(v.r); g != nil {
		return g.Base
	}
	scheme := "http"
	if v.r.TLS != nil || (v.who.via == "proxy" && v.r.Header.Get("X-Forwarded-Proto") == "https") {
		scheme = "https"
	}
	return scheme + "://" + v.r.Host
}

// entry is that of one version of a mirror.
func (v *visit) entry(name, title string, version int, at time.Time, summary string) atomEntry {
	return atomEntry{
		ID:      fmt.Sprintf("tag:mirrord,2026:%s/%d", name, version),
		Title:   fmt.Sprintf("%s: version %d", cmp.Or(title, name), version),
		Updated: at.UTC().Format(time.RFC3339),
		Link:    atomLink{To: v.base() + jobPath(name, "versions")},
		Summary: summary,
	}
}

// feedReader is the owner of a token of the API who asks for a feed: programs that read feeds keep no
// cookies, but send a name and a password. The name does not matter. It may only read, regardless of the
// token.
func (s *Server) feedReader(r *http.Request) account {
	_, secret, ok := r.BasicAuth()
	if !ok {
		secret, ok = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	if !ok || !isFeed(r) || s.Passwords == nil {
		return account{}
	}
	t, known, err := s.Passwords.Book.Token(secret)
	if err != nil {
		s.Log.Error("console", "path", r.URL.Path, "err", err)
	}
	if !known {
		return account{}
	}
	return account{Name: "token:" + t.Name, Role: Read, via: "token"}
}

func isFeed(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/feed.atom")
}

// sendFeed sends a feed that is read at a path.
func (v *visit) sendFeed(title, id string, entries []atomEntry) error {
	f := atomFeed{
		ID:      "tag:mirrord,2026:" + id,
		Title:   title,
		Updated: v.Now().UTC().Format(time.RFC3339),
		Links:   []atomLink{{Rel: "self", To: v.base() + v.r.URL.EscapedPath()}},
		Author:  "mirrord",
		Entries: entries,
	}
	if len(entries) > 0 {
		f.Updated = entries[0].Updated
	}
	text, err := xml.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	send(v.w, v.r, http.StatusOK, "application/atom+xml; charset=utf-8", append([]byte(xml.Header), text...))
	return nil
}

// allFeed is what was published last, of all mirrors.
func allFeed(v *visit) error {
	jobs := slices.DeleteFunc(v.fresh.get().Jobs, func(j status.Job) bool { return j.Published == nil })
	slices.SortStableFunc(jobs, func(x, y status.Job) int { return y.Published.Compare(*x.Published) })
	jobs = jobs[:min(len(jobs), feedLength)]
	titles := v.fresh.titles(jobs)
	entries := make([]atomEntry, 0, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		entries = append(entries, v.entry(j.Name, titles[j.Name].Title, j.Version, *j.Published, j.Say()))
	}
	return v.sendFeed("Mirrors", "all", entries)
}

// jobFeed is the last versions of one mirror.
func jobFeed(v *visit) error {
	vs, err := look.Versions(v.App, v.job)
	if errors.Is(err, home.ErrNoSite) || errors.Is(err, record.ErrNoVersion) { // so far, if there is a job
		_, err = v.Daemon.Progress(v.job)
	}
	if err != nil {
		return err
	}
	vs = vs[max(0, len(vs)-feedLength):]
	title := v.Daemon.Titles([]string{v.job})[v.job].Title
	entries := make([]atomEntry, 0, len(vs))
	for _, x := range slices.Backward(vs) {
		summary := fmt.Sprintf("%s added, %d changed, %d removed", count.Of(x.Added, "file"), x.Changed, x.Removed)
		entries = append(entries, v.entry(v.job, title, x.Number, x.Time, summary))
	}
	return v.sendFeed(cmp.Or(title, v.job), v.job, entries)
}
