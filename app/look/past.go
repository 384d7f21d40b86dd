// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"mirrord/app/env"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/serve"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// OpenPast opens a kept version of a site, also while a run writes it; 0 is the published version. It does
// not block writers.
func OpenPast(st *store.State, name string, number int) (*pastTree, error) {
	p, err := readPast(st, name, number)
	if err != nil {
		return nil, err
	}
	return &pastTree{
		st:     st,
		name:   name,
		number: p.Version.Number,
		p:      p,
	}, nil
}

// readPast reads the needed data of a version.
func readPast(st *store.State, name string, number int) (p *render.PastFS, err error) {
	err = env.View(st, name, func(s *store.Site) error {
		n := number
		if n == 0 {
			v, err := s.Versions.Last()
			if err != nil {
				return err
			}
			if n = v.Number; n == 0 {
				return fmt.Errorf("site %s: %w", name, record.ErrNoVersion)
			}
		}
		if p, err = render.OpenPast(render.MaterialOf(st, s), n); errors.Is(err, record.ErrNoVersion) {
			return env.NoVersion(name, n)
		}
		if err != nil {
			return err
		}
		docs, err := st.Documents(name)
		if err != nil {
			return err
		}
		p.Detach(docs)
		return nil
	})
	return p, err
}

// KeptVersions gives the server the versions that are no longer published. It is safe for concurrent use.
type KeptVersions struct {
	State *store.State
	views sharedViews
}

var _ interface {
	serve.Kept
	serve.KeptHistorian
} = (*KeptVersions)(nil)

// Versions lists the versions of a site.
func (k *KeptVersions) Versions(name string) (out []serve.Version, err error) {
	err = k.views.read(k.State, name, func(s *store.Site) error {
		vs, err := s.Versions.List()
		if err != nil {
			return err
		}
		out = make([]serve.Version, len(vs))
		for i := range vs {
			out[i] = WebVersion(&vs[i])
		}
		return nil
	})
	return out, err
}

// WebVersion dates a version as its phm.json does.
func WebVersion(v *record.Version) serve.Version {
	at := v.Time
	if m, err := phm.ReadMeta(bytes.NewReader(v.Meta)); err == nil {
		at = m.Retrieved
	}
	return serve.Version{Number: v.Number, Time: at}
}

// Open opens a version.
func (k *KeptVersions) Open(_ context.Context, name string, number int) (serve.KeptTree, error) {
	p, err := OpenPast(k.State, name, number)
	if errors.Is(err, record.ErrNoVersion) {
		return nil, fmt.Errorf("%w: %w", serve.ErrNoVersion, err) // dropped since the server last looked
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// History returns the states of a URL.
func (k *KeptVersions) History(_ context.Context, name string, u site.URL) (out []serve.State, err error) {
	var all []facts.DatedRecord
	err = k.views.read(k.State, name, func(s *store.Site) error {
		all, err = s.Versions.History(u)
		return err
	})
	if err != nil {
		return nil, err
	}
	var last *record.Resource
	for i := range all {
		r, is := &all[i].Record, WebVersion(&all[i].Version)
		switch had := all[i].Known && r.InSet; {
		case had && r.Body == record.NoBody:
		case had && (last == nil || r.Digest != last.Digest || r.MIME != last.MIME):
			out, last = append(out, serve.State{Version: is}), r
		case !had && (last != nil || (len(out) == 0 && i == len(all)-1)):
			out, last = append(out, missingState(is, r)), nil
		}
	}
	return out, nil
}

func missingState(in serve.Version, r *record.Resource) serve.State {
	return serve.State{
		Version: in,
		Missing: true,
		Outcome: r.Outcome,
		Status:  r.Status,
	}
}

// Close lets go of what was kept for the next call.
func (k *KeptVersions) Close() error { return k.views.close() }

// pastTree is a version that is read again when the files that it relies on were compacted away. It is safe
// for concurrent use.
type pastTree struct {
	st     *store.State
	name   string
	number int

	mu   sync.Mutex // guards what follows
	p    *render.PastFS
	past []*render.PastFS // that p replaced
}

func (t *pastTree) current() *render.PastFS {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.p
}

// Files lists the files of the version by path. The slice is not to be changed.
func (t *pastTree) Files() []phm.File { return t.current().Files() }

// Open opens a file of the version.
func (t *pastTree) Open(name string) (fs.File, error) {
	p := t.current()
	f, err := p.Open(name)
	if !errors.Is(err, disk.ErrDamaged) {
		return f, err
	}
	now, oerr := t.again(p)
	if oerr != nil {
		return nil, err
	}
	return now.Open(name)
}

// again opens the version once more, unless another caller has done so since it was p.
func (t *pastTree) again(p *render.PastFS) (*render.PastFS, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.p != p {
		return t.p, nil
	}
	now, err := readPast(t.st, t.name, t.number)
	if err != nil {
		return nil, err
	}
	t.past = append(t.past, p) // it may have readers
	t.p = now
	return now, nil
}

// Close lets go of the version.
func (t *pastTree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.p.Close()
	for _, p := range t.past {
		err = errors.Join(err, p.Close())
	}
	return err
}
