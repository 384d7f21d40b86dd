// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/heads"
	"mirrord/fetch/reach"
	"mirrord/job"
	"mirrord/mirror/revisit"
	"mirrord/phm/space"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Mirrors of a space fetch once what they share: an image, a style sheet or a page that another mirror got
// a short while ago is taken from it, with the head of the answer, and read as if the site had answered this
// job then. Unlike reuse that is the same URL, so nothing has to be compared with the site.

// SpaceSource gives what other mirrors of the space got: nothing before Prepare. Get and Took are safe for
// concurrent use.
type SpaceSource struct {
	Supplies
	Job     *job.Job
	Site    string       // name of the mirror
	Space   string       // name; "": the job is in none
	Mirrors *store.State // nil: nothing is taken

	manner   manner
	reach    reach.Policy
	holders  *space.Holders // say which other mirrors of the space hold a URL; nil: nothing is taken
	replayer *fetch.Client

	mu    sync.Mutex
	known map[string]*neighbour
	taken map[string]int64 // answers, by mirror
}

// mostNeighbours is how many other mirrors a run reads at most: a view of each is open until its end.
const mostNeighbours = 64

// neighbour is another mirror of the space.
type neighbour struct {
	name string
	once sync.Once
	site *store.Site // nil: nothing is taken from it in this run
	live int         // version
	manner
}

// Prepare notes how the job shows itself, and finds out which mirrors the space has. note is what the summary
// says, "" for nothing.
func (x *SpaceSource) Prepare() (note string, err error) {
	j := x.Job
	x.manner, x.reach = mannerOf(j, x.Now()), j.Reach()
	x.known, x.taken = map[string]*neighbour{}, map[string]int64{}
	if err := x.manner.keep(x.Facts); err != nil {
		return "", err
	}
	if x.Mirrors == nil || x.Space == "" || j.FetchOnce <= 0 || j.All || x.manner.Shown {
		return "", nil
	}
	h, err := space.OpenHolders(x.Mirrors.Dir, x.Space, x.Site)
	switch {
	case errors.Is(err, fs.ErrNotExist): // no mirror of it has been published
		return "", nil
	case err != nil:
		return fmt.Sprintf("fetch_once: the space cannot be read, everything is requested: %v", err), nil
	}
	if x.replayer, err = fetch.New(fetch.Options{}); err != nil {
		h.Close()
		return "", err
	}
	x.holders = h
	return "", nil
}

// Gives reports whether Get may have an answer.
func (x *SpaceSource) Gives() bool { return x.holders != nil }

// Took counts an answer of a mirror that was taken.
func (x *SpaceSource) Took(mirror string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.taken[mirror]++
}

// Taken are the answers that were taken, by mirror.
func (x *SpaceSource) Taken() map[string]int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.taken)
}

// Get gives the answer of the site to another mirror. The only error is that of our disk, or that ctx ended.
func (x *SpaceSource) Get(ctx context.Context, ask *Ask) (Answer, error) {
	u := ask.Record.URL
	if x.holders == nil || x.reach.Decide(reach.Target{Endpoint: job.EndpointOf(u)}) != nil {
		return Answer{}, nil
	}
	for _, name := range x.holders.Of(u.String()) {
		n := x.neighbour(name)
		if n == nil {
			continue
		}
		a, err := x.from(ctx, n, ask)
		if a.From != 0 || err != nil {
			return a, err
		}
	}
	return Answer{}, nil
}

// neighbour returns a mirror that can be read; nil when it cannot. No caller waits for one that others look
// for.
func (x *SpaceSource) neighbour(name string) *neighbour {
	x.mu.Lock()
	n := x.known[name]
	if n == nil && len(x.known) < mostNeighbours {
		n = &neighbour{name: name}
		x.known[name] = n
	}
	x.mu.Unlock()
	if n == nil {
		return nil
	}
	n.once.Do(func() {
		if err := x.open(n); err != nil {
			x.Log.Info("nothing is taken from a mirror of the space", "from", name, "err", err)
		}
	})
	if n.site == nil {
		return nil
	}
	return n
}

// open opens a mirror, unless the site may have answered it otherwise.
func (x *SpaceSource) open(n *neighbour) error {
	s, err := x.Mirrors.ViewSite(n.name)
	if err != nil {
		return err
	}
	known := false
	live, err := s.Versions.Last()
	if err == nil {
		n.manner, known, err = readManner(s.Notes)
	}
	if err == nil && live.Number > 0 && known && n.fits(x.manner) {
		n.site, n.live = s, live.Number
		return nil
	}
	return errors.Join(err, s.Close())
}

// from gives the answer of the site to one mirror, when it is one that may be taken.
func (x *SpaceSource) from(ctx context.Context, n *neighbour, ask *Ask) (Answer, error) {
	held, now := ask.Record, x.Now()
	rec, ok, err := n.site.Records.Get(held.URL)
	if err != nil || !ok || !n.gives(&rec) {
		return x.not(n, held.URL, err)
	}
	checked := time.Unix(rec.Checked, 0)
	tooLarge := x.Job.Limits.MaxBody > 0 && rec.Size > int64(x.Job.Limits.MaxBody)
	tooOld := checked.After(now) || now.Sub(checked) > x.Job.FetchOnce || rec.Checked <= held.Checked
	if tooLarge || tooOld {
		return Answer{}, nil
	}
	head, err := n.site.Records.ReadHead(rec.URL, rec.Head)
	if err != nil {
		return x.not(n, held.URL, err)
	}
	h := fieldsOf(head)
	if head.Code() != http.StatusOK || n.varies(h, x.manner) || !revisit.Stands(h, checked, now) {
		return Answer{}, nil
	}
	a := Answer{
		From:    FromOrigin,
		Told:    n.name,
		Status:  rec.Status,
		Checked: rec.Checked,
		Reason: fmt.Sprintf("the site sent it to job %s of the space, and was not asked again; %s asked it on %s",
			n.name, n.name, checked.UTC().Format("2006-01-02 15:04 MST")),
	}
	has := held.InSet && held.Body != record.NoBody && len(h.Values("X-Robots-Tag")) == 0
	if has && held.Digest == rec.Digest && held.MIME == rec.MIME && held.Charset == rec.Charset {
		a.Same = true
		return a, nil
	}
	a.body = x.Bodies.New(rec.URL)
	if a.Result, err = x.replay(ctx, n, &rec, head, a.body); err != nil {
		defer a.Release()
		if ctx.Err() != nil || a.body.Err() != nil {
			return Answer{}, errors.Join(a.body.Err(), ctx.Err())
		}
		return x.not(n, rec.URL, err)
	}
	a.Content = contentOf(a.Result, a.body, now)
	a.Content.Modified = rec.Modified
	return a, nil
}

// not is the answer when a mirror cannot give what it has.
func (x *SpaceSource) not(n *neighbour, u site.URL, err error) (Answer, error) {
	if err != nil {
		x.Log.Debug("not taken from the space", "url", u.String(), "from", n.name, "err", err)
	}
	return Answer{}, nil
}

// gives reports whether a record is of an answer of the site itself, which is published, and that others may
// read as it was. Listings and sitemaps say what the site has now: they are requested.
func (n *neighbour) gives(rec *record.Resource) bool {
	answered := rec.Status == http.StatusOK || rec.Status == http.StatusNotModified
	whole := isReusable(rec) && rec.Outcome != site.Gone && rec.Source == "" && !rec.Listing
	return whole && answered && rec.Changed <= n.live && rec.Fetched >= n.Since && !rec.Head.IsZero()
}

// replay gives the stored answer once more, and checks its body.
func (x *SpaceSource) replay(
	ctx context.Context, n *neighbour, rec *record.Resource, head *heads.Head, body *BodySink,
) (*fetch.Result, error) {
	in, err := x.stored(n, rec)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	res, err := x.replayer.Replay(ctx, fetch.Request{URL: rec.URL}, &fetch.PastAnswer{
		Head:   head,
		Plain:  true,
		Body:   in,
		Length: rec.Size,
	}, body)
	switch {
	case err != nil:
		return nil, err
	case !res.Kept:
		return nil, fmt.Errorf("status %d", res.Status)
	case body.Digest() != rec.Digest:
		return nil, fmt.Errorf("body %x of another mirror: %w", rec.Digest[:8], disk.ErrDamaged)
	}
	return res, nil
}

// stored opens a body of another mirror.
func (x *SpaceSource) stored(n *neighbour, rec *record.Resource) (io.ReadCloser, error) {
	if rec.Body == record.BlobBody {
		return x.Mirrors.Bodies.Open(rec.Digest, -1)
	}
	frame, err := n.site.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
	return io.NopCloser(bytes.NewReader(frame.Body)), err
}

func fieldsOf(head *heads.Head) http.Header {
	h := http.Header{}
	for _, f := range head.Fields {
		h.Add(f.Name, f.Value)
	}
	return h
}

// Close lets go of the other mirrors. There is no Get after it.
func (x *SpaceSource) Close() {
	for _, n := range x.known {
		if n.site != nil {
			if err := n.site.Close(); err != nil {
				x.Log.Warn("view of another mirror", "job", n.name, "err", err)
			}
		}
	}
	if x.holders != nil {
		x.holders.Close()
		x.replayer.Close()
		x.holders = nil
	}
}
