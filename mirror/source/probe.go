// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"mirrord/fetch"
	"mirrord/site"
)

// A site that is in trouble may answer its error page with status 200. The site itself says what that page
// looks like, when it is asked for a path that cannot exist. (Bar-Yossef, Broder, Kumar, Tomkins, "Sic
// transit gloria telae", WWW 2004, find dead pages by the same question.) It costs one request for each
// directory in doubt.

// maxProbe is how much of an error page is read, in bytes.
const maxProbe = 1 << 20

// Prober requests paths that cannot exist.
type Prober struct {
	Asker *Asker
	Seeds []site.URL
	Site  string // name; it and Run make the path another one in each run
	Run   int
	May   func(site.URL) bool // whether the job and the site allow a request
}

// Probe is an answer with status 200 to a path that cannot exist.
type Probe struct {
	URL    site.URL
	Answer *fetch.Result
	Body   []byte
}

// Probe requests a path that no site has, in a directory, which is a URL that ends with a slash. It returns
// nil when the answer is an honest one, there was none, or there is no path that may be requested. The only
// error is that ctx ended.
func (p *Prober) Probe(ctx context.Context, dir string) (*Probe, error) {
	u, ok := p.path(dir)
	if !ok {
		return nil, nil
	}
	var body PageSink
	res, err := p.Asker.Exchange(ctx, fetch.Request{URL: u, MaxBody: maxProbe}, &body)
	switch {
	case errors.Is(err, fetch.ErrLongWait):
		return nil, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case (err != nil) || !res.Kept || (res.Status != 200):
		return nil, nil
	}
	return &Probe{URL: u, Answer: res, Body: body.Bytes()}, nil
}

// path returns a URL in a directory that no site has, where the job may request it: else beside the entry
// point of a job for a directory of that origin.
func (p *Prober) path(dir string) (site.URL, bool) {
	u, _, err := p.Seeds[0].Resolve(dir)
	if err != nil {
		return site.URL{}, false
	}
	origin := u.Origin()
	name := fmt.Sprintf("%016x.html", xxh3.HashString(fmt.Sprintf("%s %s %d", p.Site, origin, p.Run)))
	if u, _, err := u.Resolve(name); (err == nil) && p.May(u) {
		return u, true
	}
	for _, s := range p.Seeds {
		if s.Origin() != origin {
			continue
		}
		if u, _, err := s.Resolve(name); (err == nil) && p.May(u) {
			return u, true
		}
	}
	return site.URL{}, false
}
