// SPDX-License-Identifier: Apache-2.0

package render

import (
	"path"
	"slices"
	"strings"

	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
)

// A directory and its index page are often two names of one thing: /a/ and /a/index.html, with the same
// bytes. Both want the mirror path a/index.html. The one that has it owns the file; the other one shares
// it: links to both lead there. A resource that shares a file is in the mirror as any other, with its own
// record and body, and has no mirror path.

// Shared are the other URLs of files, by the number of the URL that owns the file.
type Shared map[uint32][]string

// SharedURLs finds the URLs that share the file of another one: resources of the mirror that have no path
// of their own. Links to them lead to that file from then on.
func SharedURLs(t urls.Settled) Shared {
	shared := Shared{}
	for id, s := range t.All() {
		if !s.InSet() || s.HasPath() {
			continue
		}
		if owner, ok := TwinOf(t, id); ok && t.Path(owner) != "" && t.State(owner).InSet() {
			t.Share(id, owner)
			shared[owner] = append(shared[owner], t.URL(id).String())
		}
	}
	return shared
}

// Fits reports whether the line of a file names the URLs that share it now.
func (s Shared) Fits(f *phm.File, id uint32) bool { return slices.Equal(f.Also(), s[id]) }

// TwinOf returns the number of the other one of two URLs that want the mirror path of a directory's index.
func TwinOf(t urls.Settled, id uint32) (uint32, bool) {
	twin := IndexTwin(t.URL(id), t.MIME(id))
	if twin == "" {
		return 0, false
	}
	other, ok := t.Find([]byte(twin))
	return other, ok && other != id
}

// IndexTwin returns the URL of TwinOf: "" when u is neither of the two.
func IndexTwin(u site.URL, mime string) string {
	p := u.Path()
	if _, query := u.Query(); query {
		return ""
	}
	dir, name := path.Split(p)
	if (name != "") && !strings.HasPrefix(name, "index.") {
		return "" // the name that phm gives to an index begins so
	}
	s := u.String()
	d := site.Canonical(strings.TrimSuffix(s, p) + dir)
	if d.IsZero() {
		return ""
	}
	index := path.Base(phm.Layout{Primary: u.Origin()}.Preferred(d, mime))
	switch name {
	case "":
		return s + index
	case index:
		return d.String()
	}
	return ""
}
