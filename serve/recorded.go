// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"mirrord/archive/captured"
	"mirrord/archive/crawls"
	"mirrord/archive/warc"
	"mirrord/fetch"
	"mirrord/relocate"
	"mirrord/site"
)

// recordedSite is a web archive: each crawl in which something changed is a version. It has no tree. Answers
// are read where a request needs them, and links of documents are relocated then.
type recordedSite struct {
	io.Closer
	archive *crawls.Recordings
	entry   site.URL
	crawls  []*recordedCrawl
	form    string
}

// AddRecorded serves a web archive of some form under a name, see [crawls.Recordings.Changed] for the
// context. It is closed with the Files, or at once with an error.
func (s *Files) AddRecorded(
	ctx context.Context, name, form string, a *crawls.Recordings, c io.Closer,
) error {
	r, err := newRecorded(ctx, form, a, c)
	if err != nil {
		return err
	}
	return s.add(name, r)
}

// newRecorded closes c with an error.
func newRecorded(
	ctx context.Context, form string, a *crawls.Recordings, c io.Closer,
) (*recordedSite, error) {
	changed, err := a.Changed(ctx.Err)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	r := &recordedSite{
		Closer:  c,
		archive: a,
		entry:   a.Entry(),
		form:    form,
	}
	for k, x := range a.Crawls {
		if !changed[k] {
			continue
		}
		number := len(r.crawls) + 1
		if x.Version > 0 {
			number = x.Version
		}
		answers, err := captured.New(a, k, "")
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		r.crawls = append(r.crawls, &recordedCrawl{
			recordedSite: r,
			Version:      Version{Number: number, Time: x.Last},
			crawl:        k,
			answers:      answers,
			sizes:        sync.OnceValues(func() (int, int64) { return a.Size(k) }),
		})
	}
	return r, nil
}

// Versions are the crawls.
func (s *recordedSite) Versions() (all []Version, err error) {
	for _, c := range s.crawls {
		all = append(all, c.Version)
	}
	return all, nil
}

// Snapshot opens a crawl.
func (s *recordedSite) Snapshot(_ context.Context, number int) (*Snapshot, error) {
	for i := len(s.crawls) - 1; i >= 0; i-- {
		c := s.crawls[i]
		if number == 0 || c.Number == number {
			files, bytes := c.sizes()
			return &Snapshot{
				Version: c.Version,
				Primary: s.entry.Origin(),
				Entry:   s.place(s.entry),
				Form:    s.form,
				Files:   files,
				Bytes:   bytes,
				Table:   c,
			}, nil
		}
	}
	return nil, ErrNoVersion
}

// page is what the crawls up to a version have of a page, and whether the last one has it.
func (s *recordedSite) page(u site.URL, before int) (p *FilePage, last bool) {
	p = &FilePage{URL: u}
	for _, c := range s.crawls {
		if c.Number >= before {
			break
		}
		body := s.archive.Page(c.crawl, u)
		if body != 0 {
			p.saw(c.Number, body, c, last)
		}
		last = body != 0
	}
	return p, last
}

func (s *recordedSite) pages(f func(*FilePage) error) error {
	for _, u := range s.archive.Each() {
		p, last := s.page(u, 1<<62)
		if last {
			p.now()
		}
		if len(p.Intervals) == 0 {
			continue
		}
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

// rootPlace is the place of the root, which needs a name. A URL that has the name itself comes first.
const rootPlace = "index.html"

// place is the mirror path of a URL: the path, with its query if there is one; below a directory for each
// other host.
func (s *recordedSite) place(u site.URL) string {
	p, err := url.PathUnescape(u.Path())
	if err != nil {
		p = u.Path()
	}
	if query, ok := u.Query(); ok {
		p += "?" + url.QueryEscape(query)
	}
	if u.Origin() == s.entry.Origin() {
		return cmp.Or(p[1:], rootPlace)
	}
	return "@" + strings.Replace(u.Origin(), "://", ":", 1) + p
}

// urlAt is the URL whose place a mirror path is; the zero value for none.
func (s *recordedSite) urlAt(path string) site.URL {
	origin := s.entry.Origin()
	if rest, ok := strings.CutPrefix(path, "@"); ok {
		host, p, _ := strings.Cut(rest, "/")
		origin, path = strings.Replace(host, ":", "://", 1), p
	}
	path, query, has := strings.Cut(path, "?")
	text := origin + "/" + escapePath(path)
	if has {
		q, err := url.QueryUnescape(query)
		if err != nil {
			return site.URL{}
		}
		text += "?" + q
	}
	u, _, err := site.Parse(text)
	if err != nil {
		return site.URL{}
	}
	return u
}

// recordedCrawl is one crawl. It is safe for concurrent use.
type recordedCrawl struct {
	*recordedSite
	Version
	crawl   int
	answers *captured.Answers

	sizes func() (files int, bytes int64) // of what it shows
}

// Find returns what a URL answered.
func (c *recordedCrawl) Find(u site.URL) (Resource, bool, error) {
	x, _, err := c.archive.Answer(c.crawl, u)
	if err != nil || x == nil {
		return Resource{}, false, err
	}
	defer x.Close()
	m := warc.ParseMessage(x.Head)
	r := Resource{URL: u, Status: m.Status()}
	switch {
	case r.Status >= 300 && r.Status < 400:
		to, part, err := u.ResolveLocation(m.Header.Get("Location"))
		r.RedirectTo, r.RedirectPart = to, part
		return r, err == nil && to != u, nil
	case r.Status != http.StatusOK && r.Status != http.StatusNonAuthoritativeInfo:
		return Resource{}, false, nil
	}
	r.Status, r.Path = 0, c.place(u)
	r.Digest = sha256.Sum256([]byte(u.String() + x.At.String() + string(x.Head)))
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err == nil {
		r.MIME, r.Charset = kind, params["charset"]
	}
	if at, err := http.ParseTime(m.Header.Get("Last-Modified")); err == nil {
		r.Modified = at
	}
	return r, true, nil
}

// At returns what the URL answered whose place a path is.
func (c *recordedCrawl) At(path string) (Resource, bool, error) {
	u := c.urlAt(path)
	if path == rootPlace && !c.archive.Shows(c.crawl, u) {
		u = site.Canonical(c.entry.Origin() + "/")
	}
	if u.IsZero() {
		return Resource{}, false, nil
	}
	r, ok, err := c.Find(u)
	if ok = ok && r.Path == path; !ok {
		return Resource{}, false, err
	}
	return r, true, nil
}

// mostRecorded bounds a body that is served of a web archive: it is in memory then.
const mostRecorded = 1 << 30

// Open reads the body, decoded and with links that lead to what the crawl has.
func (c *recordedCrawl) Open(r Resource) (io.ReadSeekCloser, error) {
	var body inMemory
	req := fetch.Request{URL: r.URL, MaxBody: mostRecorded}
	res, err := c.answers.Do(context.Background(), req, &body)
	if err != nil {
		return nil, err
	}
	if !res.Kept {
		return nil, fmt.Errorf("%s: the archive has no body of it", r.URL)
	}
	b := body.Bytes()
	if hasLinks(r.MIME) {
		b = c.relocated(r, b)
	}
	return memory{bytes.NewReader(b)}, nil
}

// relocated changes the links of a document to what the crawl has.
func (c *recordedCrawl) relocated(r Resource, raw []byte) []byte {
	var doc relocate.Doc
	if err := doc.Scan(raw, relocate.Input{URL: r.URL, MIME: r.MIME, HeaderCharset: r.Charset}); err != nil {
		return raw // it is no document
	}
	var ref []byte
	return doc.Splice(nil, raw, func(i int) ([]byte, bool, bool) {
		l := &doc.Links[i]
		if l.URL == nil {
			return nil, false, false
		}
		u := site.Canonical(string(l.URL))
		if l.Kind != relocate.Action && c.archive.Shows(c.crawl, u) {
			ref = relocate.Relative(ref[:0], r.Path, c.place(u))
			return ref, true, true
		}
		return l.URL, false, l.Kind != relocate.InScript
	})
}

// inMemory takes a body.
type inMemory struct{ bytes.Buffer }

// Begin makes a buffer for the body from its start.
func (b *inMemory) Begin(*fetch.Head) (io.Writer, error) {
	b.Reset()
	return &b.Buffer, nil
}
