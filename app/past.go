// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"mirrord/job"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/web"
)

// openPast opens a kept version of a site, which it holds only for the moment; 0 is the published version.
func openPast(st *store.State, name string, number int) (*render.PastFS, error) {
	if !job.ValidName(name) {
		return nil, Usagef("%q cannot name a job", name)
	}
	s, err := st.ReadSite(name)
	if err != nil {
		return nil, err
	}
	defer s.Close() // read only: nothing can be lost
	if number == 0 {
		vs, err := s.Versions.List()
		if err != nil {
			return nil, err
		}
		if len(vs) == 0 {
			return nil, fmt.Errorf("site %s: %w", name, store.ErrNoVersion)
		}
		number = vs[len(vs)-1].Number
	}
	p, err := render.OpenPast(st, s, number)
	if errors.Is(err, store.ErrNoVersion) {
		return nil, noVersion(name, number)
	}
	if err != nil {
		return nil, err
	}
	if err := p.Detach(); err != nil {
		return nil, err
	}
	return p, nil
}

// KeptVersions gives the server the versions that are no longer published. While a run holds a site, what is not open yet cannot be opened.
// It is safe for concurrent use.
type KeptVersions struct{ State *store.State }

var _ interface {
	web.Kept
	web.KeptHistorian
} = KeptVersions{}

// Versions lists the versions of a site.
func (k KeptVersions) Versions(name string) ([]web.Version, error) {
	s, err := k.State.ReadSite(name)
	if err != nil {
		return nil, err
	}
	vs, err := s.Versions.List()
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	out := make([]web.Version, len(vs))
	for i := range vs {
		out[i] = webVersion(&vs[i])
	}
	return out, nil
}

// webVersion dates a version as its phm.json does.
func webVersion(v *store.Version) web.Version {
	at := v.Time
	if m, err := phm.ReadMeta(bytes.NewReader(v.Meta)); err == nil {
		at = m.Retrieved
	}
	return web.Version{Number: v.Number, Time: at}
}

// Open opens a version.
func (k KeptVersions) Open(_ context.Context, name string, number int) (web.KeptTree, error) {
	p, err := openPast(k.State, name, number)
	if errors.Is(err, store.ErrNoVersion) {
		return nil, fmt.Errorf("%w: %w", web.ErrNoVersion, err) // dropped since the server last looked
	}
	if err != nil {
		return nil, err
	}
	return &keptTree{st: k.State, name: name, number: number, p: p}, nil
}

// History tells which versions brought another state of a URL.
func (k KeptVersions) History(_ context.Context, name string, u site.URL) ([]web.Version, error) {
	s, err := k.State.ReadSite(name)
	if err != nil {
		return nil, err
	}
	all, err := s.Versions.History(u)
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	var out []web.Version
	var last *store.Resource
	for i := range all {
		r := &all[i].Record
		if !all[i].Known || !r.InSet || r.Body == store.NoBody {
			continue
		}
		if last == nil || r.Digest != last.Digest || r.MIME != last.MIME {
			out = append(out, webVersion(&all[i].Version))
		}
		last = r
	}
	return out, nil
}

// keptTree is a version that is opened anew when what it relies on was compacted away.
type keptTree struct {
	st     *store.State
	name   string
	number int

	mu   sync.Mutex // guards what follows
	p    *render.PastFS
	past []*render.PastFS // that p replaced
}

func (t *keptTree) current() *render.PastFS {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.p
}

// Open opens a file of the version.
func (t *keptTree) Open(name string) (fs.File, error) {
	p := t.current()
	f, err := p.Open(name)
	if !errors.Is(err, store.ErrDamaged) {
		return f, err
	}
	now, oerr := t.again(p)
	if oerr != nil {
		return nil, err
	}
	return now.Open(name)
}

// again opens the version anew, unless somebody else has done so since it was p.
func (t *keptTree) again(p *render.PastFS) (*render.PastFS, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.p != p {
		return t.p, nil
	}
	now, err := openPast(t.st, t.name, t.number)
	if err != nil {
		return nil, err
	}
	t.past = append(t.past, p) // somebody may be reading it
	t.p = now
	return now, nil
}

// Close lets go of the version.
func (t *keptTree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.p.Close()
	for _, p := range t.past {
		err = errors.Join(err, p.Close())
	}
	return err
}
