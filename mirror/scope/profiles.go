// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mirrord/job"
	"mirrord/site"
	"mirrord/site/profile"
)

// ProfilesFact keeps which programs are known to make a site, as a list of ProgramOf.
const ProfilesFact = "profiles"

// ProgramOf is a program that makes pages of a site.
type ProgramOf struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`        // of its profile when it was used last
	Had    int    `json:"had,omitempty"` // files of the mirror that it would leave to the origin
}

const (
	mostTold   = 4   // programs of one site
	mostLooked = 256 // pages of a run that are looked at for what made them
	told       = 3   // pages, other than the first one and entry points, that must tell the same
)

// Profiles are those of the programs that make a site. With profile = "auto" it learns them from pages: such
// a profile leaves only URLs that the mirror never had. Nil knows none. It is safe for concurrent use.
type Profiles struct {
	set   *profile.Catalog
	named *profile.Profile // by the job; nil: all that pages show, or no profile at all

	was []ProgramOf // of the run before

	mu     sync.RWMutex
	known  []*profile.Profile
	looked int // pages; mostLooked when there is nothing more to learn
	times  map[string]int
}

func newProfiles(j *job.Job) (*Profiles, error) {
	p := &Profiles{set: j.Profiles, looked: mostLooked}
	if p.set == nil {
		p.set = profile.Known()
	}
	switch j.Profile {
	case profile.Auto:
		p.looked = 0
	case profile.None:
	default:
		if p.named = p.set.Find(j.Profile); p.named == nil {
			var names []string
			for _, x := range p.set.All() {
				names = append(names, x.Name)
			}
			return nil, fmt.Errorf("profile: %q is not known; known are auto, none, %s", j.Profile,
				strings.Join(names, ", "))
		}
		p.known = []*profile.Profile{p.named}
	}
	return p, nil
}

// Off makes it know no profile, and learn none.
func (p *Profiles) Off() { p.known, p.named, p.looked = nil, nil, mostLooked }

// recall takes what earlier runs learned of a site.
func (r *URLRules) recall(facts KeptFacts) error {
	err := r.Profiles.recall(facts)
	r.First.programs = r.Profiles.Known()
	return err
}

func (p *Profiles) recall(facts KeptFacts) error {
	v, err := facts.Fact(ProfilesFact)
	if (err != nil) || (len(v) == 0) || (p.looked == mostLooked) {
		return err
	}
	if json.Unmarshal(v, &p.was) != nil {
		p.was = nil // it is learned again
	}
	for _, w := range p.was {
		if x := p.set.Find(w.Name); x != nil { // else its file is gone
			p.known = append(p.known, x)
		}
	}
	return nil
}

// Changed reports whether the profile of a program is another one than in the run before, or gone: pages that
// did not change may name what the mirror wants now.
func (p *Profiles) Changed() bool {
	return slices.ContainsFunc(p.was, func(w ProgramOf) bool {
		x := p.set.Find(w.Name)
		return x == nil || x.Digest != w.Digest
	})
}

// Programs is the fact for the next run. With profile = "auto" the mirror may have files that the profiles
// leave, from runs before them: had counts them, where their number may be another one than before.
func (p *Profiles) Programs(rescan bool, had func(*profile.Profile) int) (is []ProgramOf) {
	for _, x := range p.Known() {
		now := ProgramOf{Name: x.Name, Digest: x.Digest}
		knew := slices.Contains(p.was, now) // with nothing that it would leave
		if (p.named == nil) && (rescan || !knew) {
			now.Had = had(x)
		}
		is = append(is, now)
	}
	return is
}

// Known returns the profiles that are used.
func (p *Profiles) Known() []*profile.Profile {
	if p == nil {
		return nil
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.known
}

// See takes a page, with the names of the cookies that it sets, before its links are followed. The first page
// of a run, or an entry point, suffices to tell the program; else it takes three pages.
func (p *Profiles) See(page []byte, cookies []string, entry bool) {
	if p == nil {
		return
	}
	p.mu.RLock()
	enough := p.looked >= mostLooked || len(p.known) >= mostTold
	p.mu.RUnlock()
	if enough {
		return
	}
	x := p.set.Tell(page, cookies)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looked++
	if x == nil || slices.Contains(p.known, x) {
		return
	}
	if p.times == nil {
		p.times = map[string]int{}
	}
	if p.times[x.Name]++; entry || p.looked == 1 || p.times[x.Name] >= told {
		p.known = append(slices.Clone(p.known), x)
	}
}

// Leaves says why the profile of a program leaves a URL to the origin; "" for one that it does not leave.
// scope.include wins, and so do entry points.
func (r *URLRules) Leaves(u site.URL, p Purpose) (reason string) {
	for _, x := range r.Profiles.Known() {
		if line := r.LeavesBy(x, u, p); line != "" {
			return fmt.Sprintf("profile %s leaves %q to the origin", x.Name, line)
		}
	}
	return ""
}

// LeavesBy returns the line by which one profile leaves a URL to the origin.
func (r *URLRules) LeavesBy(x *profile.Profile, u site.URL, p Purpose) (line string) {
	if (p != Page) || slices.Contains(r.Seeds, u) {
		return ""
	}
	if line = x.Leaves(u); line != "" && r.Scope.Includes(u) {
		return ""
	}
	return line
}

// Wants reports whether the profile of a program wants a URL, which may be followed although a page says
// nofollow when the job says so.
func (r *URLRules) Wants(u site.URL) bool {
	return slices.ContainsFunc(r.Profiles.Known(), func(x *profile.Profile) bool { return x.Wants(u) })
}

// Fold returns a URL without parameters that a profile says do not matter, and whether it had any.
func (r *URLRules) Fold(u site.URL) (site.URL, bool) {
	for _, x := range r.Profiles.Known() {
		if f, had := x.Fold(u); had {
			return f, true
		}
	}
	return u, false
}

// ListAt returns the list of changes in JSON of which a URL may be the address, nil for none.
func (r *URLRules) ListAt(u site.URL) *profile.ChangeList {
	for _, x := range r.Profiles.Known() {
		if l := x.ListAt(u); l != nil {
			return l
		}
	}
	return nil
}

// ListsBeside returns the addresses of lists of changes that a URL shows, which a page names, or which is an
// entry point.
func (r *URLRules) ListsBeside(u site.URL) (lists []site.URL) {
	for _, x := range r.Profiles.Known() {
		lists = append(lists, x.ListsBeside(u, slices.Contains(r.Seeds, u))...)
	}
	return lists
}
