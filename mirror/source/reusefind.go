// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// A collection is proposed for reuse when another mirror has so many of the files that this site has below a
// directory, with the same bytes at the same places: findLeast and findShare of them, of which findOther may
// be others there. It is looked for every findAgain. Of a site at most about findSample files are compared
// first, then all of the directory that comes of it.
const (
	findAgain  = 7 * 24 * time.Hour
	findSample = 20_000
	findLeast  = 10
	findShare  = 0.8
	findOther  = 0.01
	findSmall  = 64 // bytes: smaller files are the same on many sites
	findTimes  = 4  // URLs of one file that are compared
	findPlaces = 16 // pairs of directories that are compared in full, of each other mirror
)

// ReuseFinder looks for collections of a site that other jobs mirror.
type ReuseFinder struct {
	Site   *store.Site
	Others interface {
		OtherMirrors
		Sites() ([]string, error)
	}
	Runs func(job string, n int) ([]store.RunRecord, error)
	Now  func() time.Time
}

// Renew looks again when it is time, or when the job that was found is no more, and returns what is known.
func (f *ReuseFinder) Renew(ctx context.Context) (ledger.FoundReuse, error) {
	last, err := ledger.LastFoundReuse(f.Site.Notes)
	if err != nil {
		return last, err
	}
	names, err := f.Others.Sites()
	if err != nil {
		return last, err
	}
	there := last.Job == "" || slices.Contains(names, last.Job)
	if there && f.Now().Sub(last.Searched) < findAgain {
		return last, nil
	}
	found, err := f.find(ctx, names)
	if err != nil {
		return ledger.FoundReuse{}, err
	}
	found.Searched = f.Now().UTC()
	v, err := json.Marshal(found)
	if err != nil {
		return found, err
	}
	return found, f.Site.Notes.SetFact(ledger.FoundReuseFact, v)
}

// reusePlace is a directory of this site, and one of another that has the same files.
type reusePlace struct{ at, from string }

// find looks in the mirrors of these names. The site's own one is none of them: one that is alone in its
// state, as that of a one-off mirror, is not even read.
func (f *ReuseFinder) find(ctx context.Context, names []string) (ledger.FoundReuse, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == f.Site.Name })
	if len(names) == 0 {
		return ledger.FoundReuse{}, nil
	}
	own, below, err := f.own()
	if err != nil {
		return ledger.FoundReuse{}, err
	}
	var best ledger.FoundReuse
	for _, name := range names {
		if ctx.Err() != nil {
			return ledger.FoundReuse{}, context.Cause(ctx)
		}
		found, err := f.of(name, own, below)
		if err != nil && !errors.Is(err, store.ErrNoSite) && !errors.Is(err, store.ErrNoVersion) {
			return ledger.FoundReuse{}, fmt.Errorf("mirror of %s: %w", name, err)
		}
		if found.Same > best.Same {
			best = found
		}
	}
	return best, nil
}

// own samples the files of this site: their URLs by digest, and how many lie below each directory.
func (f *ReuseFinder) own() (own map[[32]byte][]string, below map[string]int, err error) {
	own, below = map[[32]byte][]string{}, map[string]int{}
	n := uint64(0)
	count := func(rec *store.Resource) error {
		n++
		return nil
	}
	if err := f.Site.Records.Resources(count); err != nil {
		return nil, nil, err
	}
	every := 1 + n/findSample
	err = f.Site.Records.Resources(func(rec *store.Resource) error {
		if !isOwnFile(rec) || binary.LittleEndian.Uint64(rec.Digest[:])%every != 0 {
			return nil
		}
		u := strings.Clone(rec.URL.String())
		eachDirectory(u, func(dir string) { below[dir]++ })
		if urls := own[rec.Digest]; len(urls) < findTimes {
			own[rec.Digest] = append(urls, u)
		}
		return nil
	})
	return own, below, err
}

// isOwnFile reports whether a record has a file that its site sent, and of which it says something that it is
// on another site too.
func isOwnFile(rec *store.Resource) bool {
	return isReusable(rec) && rec.Source == "" && rec.Size >= findSmall
}

// of looks in the mirror of one job.
func (f *ReuseFinder) of(name string, own map[[32]byte][]string, below map[string]int) (
	found ledger.FoundReuse, err error,
) {
	runs, err := f.Runs(name, 1)
	if err != nil || len(runs) == 0 || f.Now().Sub(runs[0].Ended) > reuseKept {
		return ledger.FoundReuse{}, err
	}
	s, err := f.Others.ViewSite(name)
	if err != nil {
		return ledger.FoundReuse{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	votes := map[reusePlace]int{}
	err = s.Records.Resources(func(rec *store.Resource) error {
		urls := own[rec.Digest]
		if len(urls) == 0 || !isOwnFile(rec) {
			return nil
		}
		for _, u := range urls {
			eachPlace(u, rec.URL.String(), func(p reusePlace) { votes[p]++ })
		}
		return nil
	})
	if err != nil {
		return ledger.FoundReuse{}, err
	}
	for _, p := range bestPlaces(votes, below) {
		if found, err = f.count(s, name, p); err != nil || found.Job != "" {
			return found, err
		}
	}
	return ledger.FoundReuse{}, nil
}

// eachDirectory calls f with the directories above a URL, the host's root first.
func eachDirectory(u string, f func(dir string)) {
	start := strings.Index(u, "://") + 3
	for i := start; i < len(u) && u[i] != '?'; i++ {
		if u[i] == '/' {
			f(u[:i+1])
		}
	}
}

// eachPlace calls f with the directories of two URLs below which these have the same path.
func eachPlace(own, other string, f func(reusePlace)) {
	eachDirectory(own, func(dir string) {
		rest := own[len(dir):]
		from := strings.TrimSuffix(other, rest)
		isThere := len(from) < len(other) || rest == ""
		if isThere && strings.HasSuffix(from, "/") && strings.Index(from, "://")+3 < len(from)-1 {
			f(reusePlace{strings.Clone(dir), strings.Clone(from)})
		}
	})
}

// bestPlaces are the pairs of directories that share enough, those with the most files in common first; of
// equal ones the deepest.
func bestPlaces(votes map[reusePlace]int, below map[string]int) []reusePlace {
	var out []reusePlace
	for p, n := range votes {
		if float64(n) >= findShare*float64(below[p.at]) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b reusePlace) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(len(b.at), len(a.at)),
			strings.Compare(a.from, b.from), strings.Compare(a.at, b.at))
	})
	return out[:min(len(out), findPlaces)]
}

// count compares all files of two directories.
func (f *ReuseFinder) count(s *store.Site, name string, p reusePlace) (ledger.FoundReuse, error) {
	found := ledger.FoundReuse{Job: name, From: p.from, At: p.at}
	from, _, err := site.Parse(p.from)
	if err != nil {
		return ledger.FoundReuse{}, err
	}
	at, _, err := site.Parse(p.at)
	if err != nil {
		return ledger.FoundReuse{}, err
	}
	others := 0
	err = s.Records.ResourcesUnder(from, func(rec *store.Resource) error {
		rest, ok := strings.CutPrefix(rec.URL.String(), p.from)
		if !ok || !isReusable(rec) || rec.Source != "" {
			return nil
		}
		mine, ok, err := f.Site.Records.Get(site.Canonical(p.at + rest))
		switch {
		case err != nil:
			return err
		case !ok || !isReusable(&mine):
		case mine.Digest == rec.Digest:
			found.Same++
			found.Bytes += mine.Size
		default:
			others++
		}
		return nil
	})
	if err != nil {
		return ledger.FoundReuse{}, err
	}
	err = f.Site.Records.ResourcesUnder(at, func(rec *store.Resource) error {
		if isReusable(rec) {
			found.Files++
		}
		return nil
	})
	enough := found.Same >= findLeast && float64(found.Same) >= findShare*float64(found.Files)
	if err != nil || !enough || float64(others) > findOther*float64(found.Same) {
		return ledger.FoundReuse{}, err
	}
	return found, nil
}
