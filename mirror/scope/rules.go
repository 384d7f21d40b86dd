// SPDX-License-Identifier: Apache-2.0

// Package scope holds a job's rules about URLs, compiled: which URLs belong to the mirror, and what for. It
// is pure: the counts of a run, robots.txt and the records are for others.
package scope

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"mirrord/job"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/site/profile"
)

// Purpose says what a URL is wanted for.
type Purpose uint8

// The purposes.
const (
	Page      Purpose = iota
	Requisite         // may come from outside of the scope, as the job says
)

// FaviconPath is the path of the icon that browsers request at the origin of a page without being told.
const FaviconPath = "/favicon.ico"

// IsFavicon reports whether a URL is that of such an icon.
func IsFavicon(u site.URL) bool { return u.RequestURI() == FaviconPath }

// Candidate is a URL that a document names.
type Candidate struct {
	URL     []byte // canonical
	Purpose Purpose
	Follow  bool // it is requested if the rules allow; otherwise only its number is wanted
	Guess   bool // a string in a script
	Exact   bool // no other URL stands for it
}

// URLRules are a job's rules about URLs. They do not change, and are safe for concurrent use.
type URLRules struct {
	Seeds    []site.URL // the entry points; at least one
	Scope    *site.Rule
	Programs *site.ProgramRule
	Traps    site.Traps
	Types    *TypeRule // of what URLs turn out to be; nil: none
	First    Priorities
	Profiles *Profiles
	aliases  aliases
	Product  string // our name in robots.txt

	sessions   []string // parameters that hold session ids
	requisites job.Requisites
	down       *TakeDowns // nil: nothing was taken down
}

// Compile compiles the rules of a job.
func Compile(j *job.Job) (*URLRules, error) {
	r := &URLRules{
		Seeds:      j.Seeds(),
		Traps:      j.Traps(),
		Product:    job.ProductToken(j.Polite.UserAgent),
		sessions:   j.Scope.Sessions,
		requisites: j.Requisites,
	}
	if len(r.Seeds) == 0 {
		return nil, errors.New("url: no entry point")
	}
	r.aliases = newAliases(j, r.Seeds[0])
	var err error
	if r.Scope, err = j.ScopeRule(); err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	if r.Programs, err = j.ProgramRule(); err != nil {
		return nil, fmt.Errorf("programs: %w", err)
	}
	if r.Types, err = newTypeRule(j); err != nil {
		return nil, fmt.Errorf("scope.types: %w", err)
	}
	if r.First, err = CompilePriorities(j); err != nil {
		return nil, err
	}
	if r.Profiles, err = newProfiles(j); err != nil {
		return nil, err
	}
	return r, nil
}

// StripSession returns a URL without its session ids, and whether it had any.
func (r *URLRules) StripSession(u site.URL) (site.URL, bool) {
	u, stripped := site.StripSession(u)
	u, named := site.StripParams(u, r.sessions)
	return u, stripped || named
}

// TakenDown reports whether a URL was taken out of the mirror for good.
func (r *URLRules) TakenDown(u site.URL) bool { return r.down.Has(u) }

// Allow reports whether the rules allow a URL for a purpose, and which rule refuses it.
func (r *URLRules) Allow(u site.URL, p Purpose) (ok bool, reason string) {
	if d := r.down.Of(u); d != nil {
		return false, d.Sentence()
	}
	if is, reason := r.Programs.Is(u); is {
		return false, reason
	}
	if p == Page && r.Profiles != nil && r.Profiles.named != nil {
		if reason := r.Leaves(u, p); reason != "" {
			return false, reason
		}
	}
	if r.aliases.has(u) {
		return false, fmt.Sprintf("scope.aliases: %s stands for it", r.Main(u))
	}
	inPlace := r.Scope.Covers(u) || (p == Requisite && r.AllowRequisite(u))
	if !inPlace && !(p == Page && r.IsListBeside(u)) {
		_, reason := r.Scope.Admits(u)
		if p == Requisite {
			reason += fmt.Sprintf(", and requisites = %q does not take it in", r.requisites)
		}
		return false, reason
	}
	if reason, trapped := r.Traps.Check(u); trapped {
		return false, reason
	}
	return true, ""
}

// IsListBeside reports whether a URL outside of the scope is a feed of changes of the program that makes the
// site: programs have their feeds beside the directory of their pages. A page there may be that of another
// program.
func (r *URLRules) IsListBeside(u site.URL) bool {
	for _, x := range r.Profiles.Known() {
		is := x.ListAt(u) != nil || (x.IsEdits(u) && feedName.MatchString(u.RequestURI()))
		if is && r.onSeedHost(u) && !r.Scope.Excludes(u) {
			return true
		}
	}
	return false
}

var feedName = regexp.MustCompile(`\b(?:feed|atom|rss)`)

// AllowRequisite reports whether a page requisite may come from u although u is out of scope.
func (r *URLRules) AllowRequisite(u site.URL) bool {
	near := false
	switch r.requisites {
	case job.RequisitesAny:
		near = true
	case job.RequisitesHost:
		near = r.onSeedHost(u)
	case job.RequisitesDomain:
		near = r.onSeedHost(u) || r.onSeedDomain(u)
	}
	return near && !r.Scope.Excludes(u)
}

// AllowGuess reports whether what a string in a script of the page at base names may be requested: what pages
// need may come from anywhere, but what a string names need not be needed, and may be a page that the profile
// of a program leaves.
func (r *URLRules) AllowGuess(u, base site.URL) bool {
	if r.Leaves(u, Page) != "" {
		return false
	}
	anywhere := r.requisites == job.RequisitesAny
	return !anywhere || u.Hostname() == base.Hostname() || r.Scope.Covers(u)
}

// AllowSitemap reports whether a sitemap may be requested: it lies beside the site, mostly outside of a
// directory scope.
func (r *URLRules) AllowSitemap(u site.URL) bool {
	return !r.down.Has(u) && (r.Scope.Covers(u) || r.onSeedHost(u))
}

func (r *URLRules) onSeedHost(u site.URL) bool {
	return slices.ContainsFunc(r.Seeds, func(s site.URL) bool { return s.Hostname() == u.Hostname() })
}

func (r *URLRules) onSeedDomain(u site.URL) bool {
	d := u.RegistrableDomain()
	return d != "" && slices.ContainsFunc(r.Seeds, func(s site.URL) bool { return s.RegistrableDomain() == d })
}

// MixedRules stands for the Fingerprint of a site in which some documents were scanned under other rules.
const MixedRules = "mixed"

// Fingerprint names the rules of a job that decide which links are followed and how they are stored. Raise
// relocate.ScanVersion when package mirror/parse reads links in another way, too.
func Fingerprint(j *job.Job) string {
	scope := struct {
		Kind                       string
		Prefixes, Include, Exclude []string
	}{j.Scope.Kind, j.Scope.Prefixes, j.Scope.Include, j.Scope.Exclude}
	parts := []any{
		relocate.ScanVersion, j.Seeds(), j.URLs, scope, j.Programs, j.Requisites, j.ObeyRobots,
		j.ObeyNofollow.Obeyed, j.Scripts,
		j.Limits.MaxLinks, j.Limits.MaxDocument, j.Limits.MaxURLLength, j.Limits.MaxPathDepth, j.Limits.MaxRepeats,
		j.Limits.MaxVariants, j.Limits.MaxDates,
	}
	// Keys that were added later are only there when they are set: the fingerprints of older jobs stay.
	if j.Limits.MaxStale != job.MaxStale {
		parts = append(parts, j.Limits.MaxStale)
	}
	if len(j.Scope.Aliases) > 0 {
		parts = append(parts, "aliases", j.AliasHosts())
	}
	if len(j.Scope.Sessions) > 0 {
		parts = append(parts, "sessions", j.Scope.Sessions)
	}
	if !j.Scope.LearnSessions {
		parts = append(parts, "sessions are not learned")
	}
	if len(j.Scope.Types)+len(j.Scope.NotTypes) > 0 {
		parts = append(parts, j.Scope.Types, j.Scope.NotTypes)
	}
	if namesPictures(j.Scope.NotTypes) {
		parts = append(parts, "pages are shown without pictures")
	}
	if j.ObeyNofollow.ByProfile {
		parts = append(parts, "profile: nofollow")
	}
	if j.Profile != profile.Auto {
		parts = append(parts, "profile", j.Profile, j.ProfileDigest())
	}
	v, err := json.Marshal(parts)
	if err != nil {
		panic(err) // plain data
	}
	d := sha256.Sum256(v)
	return hex.EncodeToString(d[:8])
}
