// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"crypto/sha256"
	"io"
	"time"

	"mirrord/phm"
	"mirrord/phm/space"
	"mirrord/site"
)

// A link of a Memento to a page that another mirror of the space had at that time goes to its Memento.
// Where that mirror had no version yet, or not the page, the link goes to the site as it is published.

// neighbourly is a Site that knows the other mirrors of its space.
type neighbourly interface {
	Neighbours() ([]space.Neighbour, error)
}

// Neighbours lists the other mirrors of the mirror's space.
func (st *storeSite) Neighbours() ([]space.Neighbour, error) {
	o, err := st.overlay()
	if o == nil || err != nil {
		return nil, err
	}
	return o.Neighbours()
}

// largestPast is the size of the largest page of a Memento whose links are looked at, in bytes.
const largestPast = 4 << 20

// inItsTime returns a page of a version as the Memento of a time shows it, and puts it into the snapshot.
func inItsTime(v *view, t time.Time, r Resource) (Resource, error) {
	f := &phm.File{
		Path: r.Path,
		URL:  r.URL.String(),
		Type: r.MIME,
		Size: r.Size,
	}
	st, ok := v.site.(neighbourly)
	if !ok || r.Path == "" || r.Size > largestPast || !space.MayLink(f) {
		return r, nil
	}
	all, err := st.Neighbours()
	if len(all) == 0 || err != nil { // a space that is damaged hides no Memento
		return r, nil
	}
	in, err := v.Table.Open(r)
	if err != nil {
		return r, err
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, largestPast))
	if err != nil {
		return r, err
	}
	p := pastLinks{
		view: v,
		t:    t,
		all:  all,
		at:   map[string]*Snapshot{},
	}
	defer p.close()
	out, changed, err := space.Readdress(f, raw, p.address)
	if !changed || err != nil || p.err != nil {
		return r, p.err // one that cannot be read is shown as it is
	}
	r.Digest, r.Size = sha256.Sum256(out), int64(len(out))
	snap := *v.Snapshot
	snap.Table = pastPage{snap.Table, r.Digest, out}
	v.Snapshot = &snap
	return r, nil
}

// pastPage is a table of which one page is shown with other links.
type pastPage struct {
	Table
	digest [sha256.Size]byte
	data   []byte
}

// Open opens the page, or else what the table has.
func (t pastPage) Open(r Resource) (io.ReadSeekCloser, error) {
	if r.Digest == t.digest {
		return memory{bytes.NewReader(t.data)}, nil
	}
	return t.Table.Open(r)
}

// pastLinks finds the Mementos of other mirrors of the space.
type pastLinks struct {
	*view
	t   time.Time
	all []space.Neighbour
	at  map[string]*Snapshot // by mirror: the version of the time, or nil
	err error
}

func (p *pastLinks) close() {
	for _, snap := range p.at {
		if snap != nil {
			snap.release()
		}
	}
}

// address is where a link to a URL of another site leads, "" to the site.
func (p *pastLinks) address(raw string) string {
	around := space.Around(p.all, raw)
	if len(around) == 0 || p.err != nil {
		return ""
	}
	u, _, err := site.Parse(raw)
	if err != nil {
		return ""
	}
	for _, n := range around {
		snap := p.version(n.Name)
		if snap == nil {
			continue
		}
		if _, ok, err := snap.Table.Find(u); !ok || err != nil {
			continue
		}
		base := "/" + n.Name
		if p.prefix == "" {
			if base = p.siteAddress(p.r, n.Name); base[0] == '/' { // this mirror has a listener of its own
				return ""
			}
		}
		return base + wellKnown + "memento/" + p.t.UTC().Format(stamp) + "/" + u.String()
	}
	return ""
}

// version opens the version of a mirror that was in effect at the time; nil when there was none.
func (p *pastLinks) version(name string) *Snapshot {
	snap, ok := p.at[name]
	if ok {
		return snap
	}
	p.at[name] = nil
	st, err := p.open(name)
	if err != nil { // it is not served here
		return nil
	}
	all, err := st.Versions()
	if err != nil || len(all) == 0 {
		return nil
	}
	is := all[inEffect(all, p.t)]
	if is.Time.Truncate(time.Second).After(p.t) {
		return nil
	}
	if snap, err = st.Snapshot(p.r.Context(), is.Number); err != nil {
		p.err = p.r.Context().Err()
		return nil
	}
	p.at[name] = snap
	return snap
}
