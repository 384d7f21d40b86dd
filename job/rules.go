// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"

	"mirrord/phm"
	"mirrord/site"
)

// ScopeRule compiles the job's scope for its entry points. A validated job's scope compiles.
func (j *Job) ScopeRule() (*site.Rule, error) {
	kind, err := site.ParseScopeKind(j.Scope.Kind)
	if err != nil {
		return nil, err
	}
	return site.Scope{
		Kind:     kind,
		Prefixes: j.Scope.Prefixes,
		Include:  j.Scope.Include,
		Exclude:  j.Scope.Exclude,
	}.Compile(j.Seeds())
}

// ProgramRule compiles the job's rule that tells programs. A validated job's rule compiles.
func (j *Job) ProgramRule() (*site.ProgramRule, error) {
	// In site a nil list is its default; here an empty list means none.
	list := func(s []string) []string { return append([]string{}, s...) }
	return site.Programs{
		Suffixes: list(j.Programs.Suffixes),
		Dirs:     list(j.Programs.Dirs),
		Globs:    list(j.Programs.Globs),
		Free:     j.Seeds(),
	}.Compile()
}

// AliasHosts returns the other names of the host of the first URL, with ports that are not the default.
// It leaves out other texts than hosts; a validated job has none of those.
func (j *Job) AliasHosts() (out []string) {
	for _, raw := range j.Scope.Aliases {
		if u, ok := j.aliasURL(raw); ok {
			out = append(out, u.Host())
		}
	}
	return out
}

// aliasURL returns the root of a host. Without a port it has that of the first URL, unless it is the name of
// that: then the usual one is meant.
func (j *Job) aliasURL(host string) (u site.URL, ok bool) {
	host = strings.TrimSpace(host)
	if strings.ContainsAny(host, "/@*?#\\ ") || host == "" {
		return u, false
	}
	u, frag, err := site.Parse("http://" + host + "/")
	hasPort := strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']')
	if seeds := j.Seeds(); len(seeds) > 0 && err == nil && !hasPort && u.Hostname() != seeds[0].Hostname() {
		u, frag, err = site.Parse("http://" + host + strings.TrimPrefix(seeds[0].Host(), seeds[0].Hostname()) + "/")
	}
	return u, err == nil && frag == ""
}

// TypeSets compiles the file types that the job wants, and those that it does not want; nil for none given.
// Those of a validated job compile.
func (j *Job) TypeSets() (want, not *phm.Types, err error) {
	if len(j.Scope.Types) > 0 {
		if want, err = phm.NewTypes(j.Scope.Types...); err != nil {
			return nil, nil, err
		}
	}
	if len(j.Scope.NotTypes) > 0 {
		not, err = phm.NewTypes(j.Scope.NotTypes...)
	}
	return want, not, err
}

// Traps returns the job's limits against endless spaces of URLs.
func (j *Job) Traps() site.Traps {
	repeats := int(j.Limits.MaxRepeats)
	if repeats == 0 {
		repeats = -1 // for site 0 is the default
	}
	return site.Traps{
		MaxDepth:    int(j.Limits.MaxPathDepth),
		MaxURLLen:   int(j.Limits.MaxURLLength),
		MaxRepeat:   repeats,
		MaxSame:     2 * repeats,
		MaxTemplate: int(min(j.Limits.MaxVariants, 1<<30)),
		MaxDates:    int(min(j.Limits.MaxDates, 1<<30)),
	}
}
