// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"mirrord/site"
)

// What a Sites, Site or Table can say beside "the disk failed".
var (
	ErrNoSite    = errors.New("no such mirror")
	ErrNoVersion = errors.New("no such version")
	// ErrMoved says that the tree which a snapshot reads has been replaced meanwhile; a new snapshot will do.
	ErrMoved = errors.New("the published tree has moved on")
)

// Sites gives access to mirrors by name. Its methods are called from many goroutines at once.
type Sites interface {
	// Names lists the mirrors that have a published version, sorted.
	Names() ([]string, error)
	// Site returns a mirror, ErrNoSite for an unknown name. It is called for every request.
	Site(name string) (Site, error)
}

// Site is one mirror. Its methods are called from many goroutines at once.
type Site interface {
	// Versions lists the versions that Snapshot can open, oldest first, times ascending. The last one is the
	// current.
	Versions() ([]Version, error)
	// Snapshot opens a version, the current one for 0. ErrNoVersion says that it does not exist. The caller
	// calls Release.
	Snapshot(ctx context.Context, number int) (*Snapshot, error)
}

// Historian is a Site that can know the states of a URL without opening every version: oldest first, from the
// first version on that has the URL. Of one that no version has there may be one state, which says why. ok is
// false when it does not know.
type Historian interface {
	History(ctx context.Context, u site.URL) (all []State, ok bool, err error)
}

// State is what a URL is from one version on.
type State struct {
	Version
	Missing bool         // the version lacks the URL
	Outcome site.Outcome // if it is missing: what became of the last request; Pending when that is not known
	Status  int          // the site's answer to that request, 0 for none
}

// Version is a published version of a mirror.
type Version struct {
	Number int       `json:"number"` // from 1
	Time   time.Time `json:"time"`   // of the end of its retrieval
}

// Snapshot is one version, open for reading. It does not change. It is safe for concurrent use.
type Snapshot struct {
	Version
	Primary string // origin whose URLs lie at the root of the tree
	Nowhere bool   // Primary is only a name: other URLs are nowhere, and have no other versions
	Entry   string // mirror path to open first
	Form    string // of the file that the mirror is in: PHM, WARC, folder; "" of a state
	Title   string // plain text, like the next three; all may be empty
	Authors []string

	Copyright, Abstract string

	Files   int
	Bytes   int64
	Table   Table
	Tree    fs.FS  // the version as a PHM; nil: it cannot be had so
	Release func() // ends the use; nil when there is nothing to do
}

// Table finds the resources of a version. Its methods are called from many goroutines at once.
type Table interface {
	// Find returns the resource of a URL: a file, or a redirect.
	Find(u site.URL) (r Resource, ok bool, err error)
	// At returns the file at a mirror path.
	At(path string) (r Resource, ok bool, err error)
	// Open opens a file that Find or At returned. ErrMoved says that it is no longer there as described.
	Open(r Resource) (io.ReadSeekCloser, error)
}

// Resource is what a version holds for one URL.
type Resource struct {
	URL      site.URL
	Path     string    // mirror path; "" of a redirect
	MIME     string    // as the origin gave it, without parameters; may be empty
	Charset  string    // that the origin's header named; may be empty
	Modified time.Time // Last-Modified of the origin; zero when it sent none
	Digest   [32]byte  // SHA-256 of the file
	Size     int64     // bytes of the file

	Status       int      // of a redirect, as the origin gave it
	RedirectTo   site.URL // target of a redirect; zero of a file
	RedirectPart string   // the fragment that it names, "" for none
}

func (s *Snapshot) release() {
	if s != nil && s.Release != nil {
		s.Release()
	}
}

// pathOf returns the mirror path that u is the place of.
func (s *Snapshot) pathOf(u site.URL) (string, bool) {
	if _, query := u.Query(); query || u.IsZero() || u.Origin() != s.Primary {
		return "", false
	}
	p, err := url.PathUnescape(u.Path()[1:])
	return p, err == nil && p != ""
}

// place returns the URL below the primary origin at which all links of the file at a mirror path are right.
func (s *Snapshot) place(path string) site.URL {
	u, _, err := site.Parse(s.Primary + "/" + escapePath(path))
	if err != nil { // the primary origin is not valid: a damaged phm.json
		return site.URL{}
	}
	return u
}

// escapePath writes a mirror path as the path of a URL.
func escapePath(path string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~/!$&'()*+,;=:@", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// atHome reports whether the relative links of r are right when it is served at u: u and its place are in one
// directory.
func (s *Snapshot) atHome(r Resource, u site.URL) bool {
	if !hasLinks(r.MIME) {
		return true
	}
	if u.Origin() != s.Primary {
		return false
	}
	dir, err := url.PathUnescape(u.Dir())
	return err == nil && dir == "/"+r.Path[:strings.LastIndexByte(r.Path, '/')+1]
}

// hasLinks reports whether a file of this type can have links that were relocated.
func hasLinks(mime string) bool {
	switch mime {
	case "text/html", "text/css", "text/xml", "text/xsl", "application/xml", "application/json",
		"application/manifest+json", "application/xhtml+xml", "image/svg+xml", "":
		return true
	}
	return strings.HasSuffix(mime, "+xml") || strings.HasSuffix(mime, "+json")
}

// unbusted finds the file that a URL means whose query only keeps caches from answering, as scripts make it:
// pagefind-entry.json?ts=1795470961021. Servers of files ignore it. A page may be another one by its query.
func (s *Snapshot) unbusted(u site.URL) (f found, err error) {
	query, has := u.Query()
	name, value, pair := strings.Cut(query, "=")
	if !has || !busts(name, value, pair) {
		return found{}, nil
	}
	f.r, f.ok, err = s.Table.Find(site.Canonical(u.Origin() + u.Path()))
	if err != nil || !f.isFile() || f.r.MIME == "text/html" || f.r.MIME == "" || !s.atHome(f.r, u) {
		return found{}, err
	}
	return f, nil
}

// busts reports whether a query of one parameter, or of a number alone, only keeps caches from answering.
func busts(name, value string, pair bool) bool {
	if strings.ContainsAny(value, "&;=") {
		return false
	}
	if !pair {
		return name != "" && strings.Trim(name, "0123456789") == ""
	}
	switch name {
	case "_", "ts", "t", "v", "ver", "version", "cb", "nocache":
		return true
	}
	return false
}

// canonical returns a URL at which r can be had and that nothing else can mean: its own, else its place.
func (s *Snapshot) canonical(r Resource) (site.URL, error) {
	if r.Path == "" {
		return r.URL, nil
	}
	if r.URL.Origin() != s.Primary {
		return s.place(r.Path), nil
	}
	if path, ok := s.pathOf(r.URL); ok {
		other, ok, err := s.Table.At(path)
		if err != nil {
			return site.URL{}, err
		}
		if ok && other.Path != r.Path {
			return s.place(r.Path), nil
		}
	}
	return r.URL, nil
}

// found is what an address means.
type found struct {
	r  Resource
	ok bool
	// to is the URL at which r is served instead: its links would be wrong here, or the address means two files.
	// Zero: here.
	to    site.URL
	twice bool // the address is the URL of one file and the place of another
}

// isFile reports whether a file is sent.
func (f *found) isFile() bool { return f.ok && f.r.Path != "" && f.to.IsZero() }
