// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mirrord/phm/space"
	"mirrord/site"
)

// A mirror of a space is served as it is there: pages with links to other mirrors instead of those that are
// published. Such a link goes to an address below the root, "/@@NAME/…", which is answered by the other
// mirror. Requests by URL (the gateway, the offer to other mirrors) get the published files;
// spacepast.go has Mementos.

// Space returns the table of the current version as it is in the mirror's space; false: it is in none.
func (st *storeSite) Space(t Table) (Table, string, bool) {
	o, err := st.overlay()
	if o == nil || err != nil { // the mirror as it is published can be served all the same
		return t, "", false
	}
	return spaceTable{t, o}, o.Space, true
}

// overlay returns what the mirror's space has of it, nil when it is in none.
func (st *storeSite) overlay() (*space.Overlay, error) {
	was := st.space.Load()
	o, err := space.OpenOverlay(st.s.state.Dir, st.name, was)
	if err == nil && o != was {
		st.space.Store(o)
	}
	return o, err
}

// spaceTable is a table in which pages of the space stand for published ones.
type spaceTable struct {
	Table
	space *space.Overlay
}

// Find is that of the table.
func (t spaceTable) Find(u site.URL) (Resource, bool, error) {
	r, ok, err := t.Table.Find(u)
	return t.in(r), ok, err
}

// At is that of the table.
func (t spaceTable) At(path string) (Resource, bool, error) {
	r, ok, err := t.Table.At(path)
	return t.in(r), ok, err
}

// in returns the resource of the space that replaces r.
func (t spaceTable) in(r Resource) Resource {
	if p, ok := t.space.Page(r.Path, r.Digest); ok {
		r.Digest, r.Size = p.Digest, p.Size
	}
	return r
}

// Open opens the page of the space, or else the published file.
func (t spaceTable) Open(r Resource) (io.ReadSeekCloser, error) {
	f, ok, err := t.space.Open(r.Path, r.Digest)
	switch {
	case !ok:
		return t.Table.Open(r)
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrMoved
	case err != nil:
		return nil, err
	}
	return f, nil
}

// neighbour answers an address of another mirror of the space, below the root of this one or of the base
// host. false: it is no such address. A document is answered by a redirect, so that its scripts have the
// origin of its own mirror; all else, which pages show, is sent as it is, because browsers let no other
// origin give it.
func (v *view) neighbour(path, in string) (done bool, err error) {
	p, err := url.PathUnescape(path)
	if err != nil || len(p) < 2 {
		return false, nil
	}
	name, rest, ok := space.MirrorOf(p[1:])
	if !ok {
		return false, nil
	}
	st, err := v.Sites.Site(name)
	if errors.Is(err, ErrNoSite) {
		return v.kept(in, name, rest)
	} else if err != nil {
		return false, err
	}
	snap, err := st.Snapshot(v.r.Context(), 0)
	if err != nil {
		return false, err
	}
	defer snap.release()
	other, ok := st.(*storeSite)
	if !ok {
		return false, nil
	}
	table, its, ok := other.Space(snap.Table)
	if !ok || (in != "" && its != in) {
		return false, nil
	}
	if strings.HasPrefix(rest, space.LastFolder+"/") {
		return v.lastCopy(table.(spaceTable).space, rest)
	}
	r, ok, err := table.At(rest)
	if err != nil {
		return false, err
	} else if !ok {
		return v.kept(its, name, rest)
	}
	address := "/" + name
	if in != "" {
		address = v.siteAddress(v.r, name)
	}
	_, oerr := v.open(name)
	if bare := in != "" && address[0] == '/'; oerr != nil || bare {
		if isDocument(r.MIME) || (oerr != nil) { // it is not served here, or by a listener of its own
			v.w.Header().Set("Cache-Control", "no-store")
			redirect(v.w, http.StatusFound, r.URL.String())
			return true, nil
		}
	}
	if in != "" && !isDocument(r.MIME) {
		shown := *v
		snap.Table = table
		shown.Snapshot, shown.site, shown.name = snap, st, name
		return true, shown.body(r)
	}
	v.w.Header().Set("Cache-Control", "no-cache")
	redirect(v.w, http.StatusFound, address+"/"+escapePath(rest))
	return true, nil
}

// lastCopy answers an address of the last copy of a page that a site no longer has. It is of no version
// that is served, and so of no host: a page gets an origin of its own.
func (v *view) lastCopy(o *space.Overlay, path string) (done bool, err error) {
	f, mime, err := o.OpenLast(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer f.Close()
	v.ofNoVersion(f, mime)
	return true, nil
}

// kept answers an address of a file that its mirror no longer has, and that the space keeps for a
// page that could not be made again; or the page that says that the mirror was removed.
func (v *view) kept(in, mirror, path string) (done bool, err error) {
	sites, ok := v.Sites.(*Store)
	if !ok {
		return false, nil
	}
	f, err := space.OpenKept(sites.state.Dir, in, mirror, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer f.Close()
	if f.Struck {
		v.w.Header().Set("Cache-Control", "no-store")
		w := v.wordsFor(v.r)
		v.sendPage(v.w, v.r, http.StatusGone, "missing", notFound{W: w, What: say(w.Removed, "name", mirror)})
		return true, nil
	}
	v.ofNoVersion(f, f.Type)
	return true, nil
}

// ofNoVersion sends a file of no version that is served, and so of no host: a page gets an origin of its own.
func (v *view) ofNoVersion(f io.ReadSeeker, mime string) {
	h := v.w.Header()
	isolate(h, true)
	h.Set("Content-Type", cmp.Or(mime, "application/octet-stream"))
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(v.w, v.r, "", time.Time{}, f)
}
