// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"mirrord/fetch"
	"mirrord/internal/zst"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
)

// The stored facts of the mirror that a job follows: its offer as of the last complete run, and the file
// table of that version, compressed with zstd.
const (
	upstreamName  = "upstream"
	upstreamTable = "upstream-table"

	maxUpstreamTable = 512 << 20 // bytes, unpacked
)

// upstreamFact describes the mirror that a job follows.
type upstreamFact struct {
	At    string     `json:"at"`             // address of its offer; "": it follows none
	ETag  string     `json:"etag,omitempty"` // of the offer
	Offer *phm.Offer `json:"offer"`
}

// followed is a version of the mirror that is followed. It is not changed.
type followed struct {
	base  string // URL of its root
	offer *phm.Offer
	etag  string
	since int // version that was known before; 0 for none
	same  bool
	table []byte // phm.files
	index *phm.TableIndex
	gone  map[string]bool // places of files that the version before had, and this one does not have

	update *phm.Update
	body   *BodySink // of the update
}

// errNotOffered says that a mirror is no longer offered.
var errNotOffered = errors.New("it is no longer offered")

// Prepare asks the mirror that the job followed for its version, and pulls what has changed. note is what the
// summary says of it, "" for nothing. When ctx ends, the run does.
func (x *UpstreamSource) Prepare(ctx context.Context) (note string, err error) {
	if x.known, _, err = urls.ReadFact[upstreamFact](x.Facts, upstreamName); err != nil || x.known.At == "" {
		return "", err
	}
	at, _, perr := site.Parse(x.known.At)
	base, ok := upstreamBase(at)
	if perr != nil || !ok || !x.isOf(base) {
		return "", nil // the job mirrors another site now
	}
	packed, err := x.Facts.Fact(upstreamTable)
	if err != nil {
		return "", err
	}
	x.tried.Store(true)
	err = x.follow(ctx, at, base, unpackTable(packed))
	switch {
	case err == nil, ctx.Err() != nil:
		return "", nil
	case errors.Is(err, errNotOffered):
		x.tried.Store(false)
		return "", errors.Join(x.Facts.SetFact(upstreamName, nil), x.Facts.SetFact(upstreamTable, nil))
	}
	const form = "the mirror at %s could not be followed, everything is requested from it: %v"
	return fmt.Sprintf(form, base, err), nil
}

// Hear follows a mirror that an answer of the site announces, unless the run has tried that already.
func (x *UpstreamSource) Hear(ctx context.Context, u site.URL, res *fetch.Result) {
	if res == nil || len(res.Header["Link"]) == 0 || x.tried.Load() {
		return
	}
	for _, l := range relocate.ParseLinkHeader(res.Links()) {
		if !l.Is(phm.OfferRel) {
			continue
		}
		at, _, err := u.Resolve(l.Ref)
		base, ok := upstreamBase(at)
		covers := ok && strings.HasPrefix(u.String(), base) && x.isOf(base)
		if err != nil || !covers || x.tried.Swap(true) {
			continue
		}
		if err := x.follow(ctx, at, base, nil); err != nil {
			x.Log.Info("the mirror is not followed", "url", at.String(), "err", err)
		}
	}
}

// upstreamBase is the URL of the root of the mirror that an address offers.
func upstreamBase(at site.URL) (base string, ok bool) {
	rest, ok := strings.CutSuffix(at.String(), phm.OfferPath)
	return rest + "/", ok
}

// isOf reports whether an entry point of the job is in the mirror.
func (x *UpstreamSource) isOf(base string) bool {
	return slices.ContainsFunc(x.Seeds, func(u site.URL) bool { return strings.HasPrefix(u.String(), base) })
}

// follow finds out which version the mirror has, and pulls what differs from the version that is known, of
// which table is the file table.
func (x *UpstreamSource) follow(ctx context.Context, at site.URL, base string, table []byte) (err error) {
	p := &pull{UpstreamSource: x, asker: x.NewAsker(), at: at}
	v := &followed{base: base, gone: map[string]bool{}, body: x.Bodies.New(at)}
	defer func() {
		if err != nil {
			v.body.Close()
		}
	}()
	known := x.known.Offer
	if known == nil || table == nil || x.known.At != at.String() || phm.TableSum(table) != known.TableSum {
		known = nil
	}
	if v.offer, v.etag, err = p.offer(ctx, known); err != nil {
		return err
	}
	if known != nil {
		v.since = known.Version
	}
	switch {
	case known != nil && known.TableSum == v.offer.TableSum && known.Version == v.offer.Version:
		v.table, v.same = table, true
	case known != nil && slices.Contains(v.offer.Bases, known.Version) && x.wants(base, table):
		if err = p.since(ctx, v, known.Version, table); err != nil && ctx.Err() == nil {
			x.Log.Info("only the table is taken", "url", at.String(), "err", err)
			err = p.tableAlone(ctx, v)
		}
	default:
		if err = p.tableAlone(ctx, v); err != nil {
			return err
		}
		fits := x.MaxBody <= 0 || v.offer.Bytes <= x.MaxBody
		if x.Fresh() && fits && x.wants(base, v.table) {
			err = p.since(ctx, v, 0, nil)
		}
	}
	if err != nil {
		return err
	}
	if v.index, err = phm.IndexTable(bytes.NewReader(v.table), v.offer.Files); err != nil {
		return err
	}
	if x.replayer, err = fetch.New(fetch.Options{}); err != nil {
		return err
	}
	x.now.Store(v)
	return nil
}

// wants reports whether most of what a mirror has is in the scope of the job.
func (x *UpstreamSource) wants(base string, table []byte) bool {
	in, all := int64(0), int64(0)
	for f, err := range phm.Files(bytes.NewReader(table)) {
		if err != nil {
			return false
		}
		all += f.Size
		if u, _, err := site.Parse(base + (&url.URL{Path: f.Path}).EscapedPath()); err == nil && x.Covers(u) {
			in += f.Size
		}
	}
	return 2*in >= all
}

// pull makes the requests to a server of mirrors.
type pull struct {
	*UpstreamSource
	asker *Asker
	at    site.URL
}

// get requests what follows the address of the offer.
func (p *pull) get(ctx context.Context, rest, etag string, sink fetch.Sink) (*fetch.Result, error) {
	u, _, err := site.Parse(p.at.String() + rest)
	if err != nil {
		return nil, err
	}
	may, err := p.asker.Allowed(ctx, u)
	switch {
	case err != nil:
		return nil, err
	case !may.OK:
		return nil, fmt.Errorf("%s: %s", u, may.Why)
	}
	req := fetch.Request{
		URL:     u,
		Accept:  "*/*",
		ETag:    etag,
		MaxBody: p.MaxBody,
		NoRetry: true,
	}
	res, err := p.asker.Exchange(ctx, req, sink)
	switch {
	case err != nil:
		return res, fmt.Errorf("%s: %w", u, err)
	case res.NotModified && etag != "", res.Kept && res.Status == http.StatusOK:
		return res, nil
	case rest == "" && (res.Status == http.StatusNotFound || res.Status == http.StatusGone || isRedirect(res)):
		return res, errNotOffered
	}
	return res, fmt.Errorf("%s: status %d", u, res.Status)
}

// offer requests the offer. known is the one of the last run.
func (p *pull) offer(ctx context.Context, known *phm.Offer) (*phm.Offer, string, error) {
	etag := ""
	if known != nil {
		etag = p.known.ETag
	}
	var body PageSink
	res, err := p.get(ctx, "", etag, &body)
	if err != nil {
		return nil, "", err
	}
	if res.NotModified {
		return known, etag, nil
	}
	o, err := phm.ReadOffer(bytes.NewReader(body.Bytes()))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", p.at, err)
	}
	return o, res.ETag, nil
}

// since pulls an update of a version, or everything.
func (p *pull) since(ctx context.Context, v *followed, version int, table []byte) error {
	u, err := p.update(ctx, v, v.offer.UpdateSince(version), table)
	if err != nil {
		return err
	}
	v.update = u
	for _, gone := range u.Gone {
		v.gone[gone] = true
		if dir, name := path.Split(gone); strings.HasPrefix(name, "index.") {
			v.gone[dir] = true
		}
	}
	return nil
}

// isGone reports whether a URL, after the root of the mirror, had a file that the mirror no longer has.
func (v *followed) isGone(rest string) bool {
	place, err := url.PathUnescape(rest)
	return err == nil && v.gone[place]
}

// tableAlone pulls the file table.
func (p *pull) tableAlone(ctx context.Context, v *followed) error {
	_, err := p.update(ctx, v, v.offer.TableUpdate(), nil)
	return err
}

// update pulls an update, and checks the resulting table.
func (p *pull) update(ctx context.Context, v *followed, rest string, base []byte) (*phm.Update, error) {
	if _, err := p.get(ctx, rest, "", v.body); err != nil {
		return nil, errors.Join(err, v.body.Err())
	}
	r, size := v.body.readerAt()
	a, err := phm.OpenArchive(r, size, phm.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", p.at, rest, err)
	}
	u, err := phm.OpenUpdate(a, base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s%s: %w", p.at, rest, err)
	case u.Target.Version != v.offer.Version || u.Target.TableSum != v.offer.TableSum:
		return nil, fmt.Errorf("%s%s: it redirects to version %d, not to the offered one", p.at, rest,
			u.Target.Version)
	}
	v.table = u.Table
	return u, nil
}

// find returns the file that the mirror serves at an address below its root; nil when that is not certain.
// named says that no page led there: the server then prefers the URL of a file to the place of another one.
func (v *followed) find(rest string, named bool) (*phm.File, error) {
	table := bytes.NewReader(v.table)
	place, err := url.PathUnescape(rest)
	var byPath, byURL *phm.File
	if err == nil && place != "" && !strings.Contains(rest, "?") {
		if byPath, err = v.index.ByPath(table, place); err != nil {
			return nil, err
		}
	}
	if byPath == nil || named {
		if byURL, err = v.index.ByURL(table, v.offer.Primary+"/"+rest); err != nil {
			return nil, err
		}
	}
	switch {
	case byPath == nil && byURL == nil:
		return nil, nil
	case byPath == nil: // it is served here only where its links are right
		before, _, _ := strings.Cut(rest, "?")
		dir, err := url.PathUnescape(before[:strings.LastIndexByte(before, '/')+1])
		if err != nil || dir != byURL.Path[:strings.LastIndexByte(byURL.Path, '/')+1] {
			return nil, nil
		}
		return byURL, nil
	case byURL != nil && byURL.Path != byPath.Path:
		return nil, nil
	}
	return byPath, nil
}

// Keep stores which version the site is of now, at the end of a complete run.
func (x *UpstreamSource) Keep() error {
	v := x.now.Load()
	if v == nil || (v.same && v.etag == x.known.ETag) {
		return nil
	}
	// a table that is not that of the offer counts as none
	return errors.Join(x.Facts.SetFact(upstreamTable, zst.NewEncoder(8<<20).EncodeAll(v.table, nil)),
		urls.WriteFact(x.Facts, upstreamName, upstreamFact{
			At:    strings.TrimSuffix(v.base, "/") + phm.OfferPath,
			ETag:  v.etag,
			Offer: v.offer,
		}))
}

// unpackTable unpacks a stored table; nil without one.
func unpackTable(packed []byte) []byte {
	z := zst.NewDecoder(maxUpstreamTable)
	defer z.Close()
	table, err := z.DecodeAll(packed, nil)
	if err != nil {
		return nil
	}
	return table
}
