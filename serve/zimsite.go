// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"

	"mirrord/archive/zim"
	"mirrord/site"
)

// zimSite is a ZIM file of another program, of one version. It has paths and no URLs, so that its entries lie
// at an origin that exists nowhere. It is safe for concurrent use.
type zimSite struct {
	mu   sync.Mutex // guards zim
	zim  *zim.Reader
	old  bool
	uuid [16]byte
	io.Closer
	snap Snapshot
}

// AddZIM serves a ZIM file of another program under a name. c is closed with the Files, or at once with an
// error.
func (s *Files) AddZIM(name string, z *zim.Reader, size int64, c io.Closer) error {
	x := &zimSite{
		zim:    z,
		old:    z.Old(),
		uuid:   z.UUID,
		Closer: c,
	}
	main, ok, err := z.MainPage()
	if err != nil {
		return errors.Join(err, c.Close())
	}
	made, err := time.Parse(time.DateOnly, z.Meta("Date"))
	if err != nil {
		made = time.Unix(0, 0).UTC()
	}
	x.snap = Snapshot{
		Version: Version{Number: 1, Time: made},
		Primary: "http://" + name + ".zim.invalid", // RFC 2606 §2
		Nowhere: true,
		Form:    "ZIM",
		Title:   z.Meta("Title"),

		Copyright: z.Meta("License"),
		Abstract:  z.Meta("Description"),

		Files: z.Len(),
		Bytes: size,
		Table: x,
	}
	if by := z.Meta("Creator"); by != "" {
		x.snap.Authors = []string{by}
	}
	if ok {
		x.snap.Entry = x.path(main)
	}
	return s.add(name, x)
}

// Versions is the one that the file is.
func (s *zimSite) Versions() ([]Version, error) { return []Version{s.snap.Version}, nil }

// Snapshot opens it.
func (s *zimSite) Snapshot(_ context.Context, number int) (*Snapshot, error) {
	if number > 1 {
		return nil, ErrNoVersion
	}
	snap := s.snap
	return &snap, nil
}

// path is where an entry is served. In files of before 2021 links name the namespace.
func (s *zimSite) path(f zim.Located) string {
	if s.old {
		return string(rune(f.Namespace)) + "/" + f.Path
	}
	return f.Path
}

// find returns the entry of a path.
func (s *zimSite) find(path string) (zim.Located, bool, error) {
	namespace := byte(zim.Content)
	if s.old {
		if len(path) < 3 || path[1] != '/' || path[0] == zim.Index {
			return zim.Located{}, false, nil
		}
		namespace, path = path[0], path[2:]
	}
	return s.zim.Find(namespace, path)
}

// Find returns the content of a URL: an entry, or a redirect to one. A query may be part of an entry's path;
// one that is not changes nothing.
func (s *zimSite) Find(u site.URL) (Resource, bool, error) {
	path, err := url.PathUnescape(u.Path()[1:])
	if err != nil || u.Origin() != s.snap.Primary {
		return Resource{}, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var f zim.Located
	ok := false
	if query, has := u.Query(); has {
		if f, ok, err = s.find(path + "?" + query); err != nil {
			return Resource{}, false, err
		}
	}
	if !ok {
		if f, ok, err = s.find(path); err != nil || !ok {
			return Resource{}, false, err
		}
	}
	if f.Target < 0 {
		r, ok := s.resource(f)
		r.URL = u
		return r, ok, nil
	}
	to, ok, err := s.zim.Follow(f)
	if err != nil || !ok {
		return Resource{}, false, err
	}
	return Resource{URL: u, Status: http.StatusFound, RedirectTo: s.snap.place(s.path(to))}, true, nil
}

// At returns the entry at a path.
func (s *zimSite) At(path string) (Resource, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok, err := s.find(path)
	if err != nil || !ok || f.Target >= 0 {
		return Resource{}, false, err
	}
	r, ok := s.resource(f)
	r.URL = s.snap.place(r.Path)
	return r, ok, nil
}

// resource describes an entry. Its digest is of the place in the file, which does not change.
func (s *zimSite) resource(f zim.Located) (Resource, bool) {
	r := Resource{
		Path:   s.path(f),
		Digest: sha256.Sum256(fmt.Appendf(s.uuid[:], "%c%s", f.Namespace, f.Path)),
	}
	if kind, params, err := mime.ParseMediaType(f.Type); err == nil {
		r.MIME, r.Charset = kind, params["charset"]
	}
	return r, f.Type != ""
}

// Open opens the content of an entry.
func (s *zimSite) Open(r Resource) (io.ReadSeekCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok, err := s.find(r.Path)
	if err == nil && (!ok || f.Target >= 0) {
		err = fmt.Errorf("%s: %w", r.Path, ErrMoved)
	}
	if err != nil {
		return nil, err
	}
	b, err := s.zim.Blob(f)
	if err != nil {
		return nil, err
	}
	if b.At != nil {
		return openedEntry{io.NewSectionReader(b.At, 0, b.Size), b}, nil
	}
	return &packedEntry{site: s, found: f, blob: b}, nil
}

// openedEntry is an entry whose content can be read anywhere.
type openedEntry struct {
	io.ReadSeeker
	io.Closer
}

// packedEntry is an entry of a large compressed cluster, which is read from the beginning whenever the reader
// goes back.
type packedEntry struct {
	site  *zimSite
	found zim.Located
	blob  *zim.Blob
	at    int64 // where the blob is
	want  int64 // where the reader is
}

// Seek goes to a place, without reading.
func (p *packedEntry) Seek(to int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		to += p.want
	case io.SeekEnd:
		to += p.blob.Size
	}
	if to < 0 {
		return 0, errors.New("a place before the beginning")
	}
	p.want = to
	return to, nil
}

// Read reads from where Seek went.
func (p *packedEntry) Read(b []byte) (int, error) {
	if p.want < p.at {
		p.site.mu.Lock()
		blob, err := p.site.zim.Blob(p.found)
		p.site.mu.Unlock()
		if err != nil {
			return 0, err
		}
		p.blob.Close()
		p.blob, p.at = blob, 0
	}
	n, err := io.CopyN(io.Discard, p.blob, p.want-p.at)
	if p.at += n; err != nil {
		return 0, err
	}
	k, err := p.blob.Read(b)
	p.at += int64(k)
	p.want = p.at
	return k, err
}

// Close lets go of the cluster.
func (p *packedEntry) Close() error { return p.blob.Close() }

func (s *zimSite) pages(f func(*FilePage) error) error {
	for i := range s.zim.Len() {
		s.mu.Lock()
		e, err := s.zim.At(i)
		s.mu.Unlock()
		if err != nil {
			return err
		}
		r, ok := s.resource(e)
		page := e.Namespace == zim.Content || (s.old && e.Namespace == 'A')
		if !ok || !page || e.Target >= 0 || !isPageType(r.MIME) {
			continue
		}
		p := &FilePage{URL: s.snap.place(r.Path)}
		p.saw(1, binary.LittleEndian.Uint64(r.Digest[:]), s, false)
		p.now()
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}
