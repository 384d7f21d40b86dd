// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/shared"
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
	Site         *store.Site
	Others       *store.State
	Fingerprints func(job string) ([]byte, error) // that a run of a job has written
	Runs         func(job string, n int) ([]shared.RunRecord, error)
	Now          func() time.Time
}

// Renew looks again when it is time, or when the job that was found is no more, and returns the result.
func (f *ReuseFinder) Renew(ctx context.Context) (urls.FoundReuse, error) {
	last, err := urls.LastFoundReuse(f.Site.Notes)
	if err != nil {
		return last, err
	}
	names, err := f.others()
	if err != nil {
		return last, err
	}
	there := last.Job == "" || slices.Contains(names, last.Job)
	if there && f.Now().Sub(last.Searched).Abs() < findAgain {
		return last, f.Show()
	}
	found, err := f.find(ctx, names)
	if err != nil {
		return urls.FoundReuse{}, err
	}
	found.Searched = f.Now().UTC()
	return found, urls.WriteFact(f.Site.Notes, urls.FoundReuseFact, found)
}

// reusePlace is a directory of this site, and one of another that has the same files.
type reusePlace struct{ at, from string }

// others lists the other mirrors.
func (f *ReuseFinder) others() ([]string, error) {
	names, err := f.Others.Sites()
	return slices.DeleteFunc(names, func(name string) bool { return name == f.Site.Name }), err
}

// Show writes the fingerprints of the site, unless they are as new as a search has them: all that a site does
// which looks for nothing itself.
func (f *ReuseFinder) Show() error {
	had, err := f.Fingerprints(f.Site.Name)
	if err != nil {
		return err
	}
	if old, ok := readFingerprints(had); ok && f.Now().Sub(old.made).Abs() < findAgain {
		return nil
	}
	_, err = f.own()
	return err
}

// find looks in the mirrors of these names.
func (f *ReuseFinder) find(ctx context.Context, names []string) (urls.FoundReuse, error) {
	own, err := f.own()
	if err != nil {
		return urls.FoundReuse{}, err
	}
	var best urls.FoundReuse
	for _, name := range names {
		if ctx.Err() != nil {
			return urls.FoundReuse{}, context.Cause(ctx)
		}
		b, err := f.Fingerprints(name)
		if err != nil {
			return urls.FoundReuse{}, fmt.Errorf("mirror of %s: %w", name, err)
		}
		theirs, ok := readFingerprints(b) // its next run writes them
		if !ok || !own.prints.mayShare(&theirs) {
			continue
		}
		found, err := f.of(name, own)
		if err != nil && !errors.Is(err, home.ErrNoSite) && !errors.Is(err, record.ErrNoVersion) {
			return urls.FoundReuse{}, fmt.Errorf("mirror of %s: %w", name, err)
		}
		if found.Same > best.Same {
			best = found
		}
	}
	return best, nil
}

// ownFiles are the files of this site.
type ownFiles struct {
	prints *fingerprints
	urls   map[[32]byte][]string // by digest, of a sample
	below  map[string]int        // how many of the sample lie below each directory
}

// own reads the files of this site, and writes their fingerprints.
func (f *ReuseFinder) own() (own ownFiles, err error) {
	own = ownFiles{urls: map[[32]byte][]string{}, below: map[string]int{}}
	n := uint64(0)
	count := func(rec *record.Resource) error {
		n++
		return nil
	}
	if err := f.Site.Records.Resources(count); err != nil {
		return own, err
	}
	every, upTo := 1+n/findSample, fingerprintsUpTo(n)
	var prints []uint32
	err = f.Site.Records.Resources(func(rec *record.Resource) error {
		if !isOwnFile(rec) {
			return nil
		}
		if x := fingerprintOf(&rec.Digest); x <= upTo {
			prints = append(prints, x)
		}
		if binary.LittleEndian.Uint64(rec.Digest[:])%every != 0 {
			return nil
		}
		u := strings.Clone(rec.URL.String())
		eachDirectory(u, func(dir string) { own.below[dir]++ })
		if urls := own.urls[rec.Digest]; len(urls) < findTimes {
			own.urls[rec.Digest] = append(urls, u)
		}
		return nil
	})
	if err != nil {
		return own, err
	}
	own.prints = newFingerprints(prints, upTo, f.Now())
	return own, f.Site.Keep(FingerprintsFile, own.prints.encode(), false)
}

// isOwnFile reports whether a record has a file that its site sent, and of which it says something that it is
// on another site too.
func isOwnFile(rec *record.Resource) bool {
	return isReusable(rec) && rec.Source == "" && rec.Size >= findSmall
}

// of looks in the mirror of one job.
func (f *ReuseFinder) of(name string, own ownFiles) (found urls.FoundReuse, err error) {
	runs, err := f.Runs(name, 1)
	if err != nil || len(runs) == 0 || f.Now().Sub(runs[0].Ended) > reuseKept {
		return urls.FoundReuse{}, err
	}
	s, err := f.Others.ViewSite(name)
	if err != nil {
		return urls.FoundReuse{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	votes := map[reusePlace]int{}
	err = s.Records.Resources(func(rec *record.Resource) error {
		urls := own.urls[rec.Digest]
		if len(urls) == 0 || !isOwnFile(rec) {
			return nil
		}
		for _, u := range urls {
			eachPlace(u, rec.URL.String(), func(p reusePlace) { votes[p]++ })
		}
		return nil
	})
	if err != nil {
		return urls.FoundReuse{}, err
	}
	for _, p := range bestPlaces(votes, own.below) {
		if found, err = f.count(s, name, p); err != nil || found.Job != "" {
			return found, err
		}
	}
	return urls.FoundReuse{}, nil
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
func (f *ReuseFinder) count(s *store.Site, name string, p reusePlace) (urls.FoundReuse, error) {
	found := urls.FoundReuse{Job: name, From: p.from, At: p.at}
	from, _, err := site.Parse(p.from)
	if err != nil {
		return urls.FoundReuse{}, err
	}
	at, _, err := site.Parse(p.at)
	if err != nil {
		return urls.FoundReuse{}, err
	}
	others := 0
	err = s.Records.ResourcesUnder(from, func(rec *record.Resource) error {
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
		return urls.FoundReuse{}, err
	}
	err = f.Site.Records.ResourcesUnder(at, func(rec *record.Resource) error {
		if isReusable(rec) {
			found.Files++
		}
		return nil
	})
	enough := found.Same >= findLeast && float64(found.Same) >= findShare*float64(found.Files)
	if err != nil || !enough || float64(others) > findOther*float64(found.Same) {
		return urls.FoundReuse{}, err
	}
	return found, nil
}
