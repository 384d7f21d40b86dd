// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"

	"mirrord/phm"
	"mirrord/site"
)

func checkPrefixes(j *Job) error {
	switch has := len(j.Scope.Prefixes) > 0; {
	case has && j.Scope.Kind != "prefixes":
		return problemf(`leave kind out or write kind = "prefixes"`, "scope of kind %q has no prefixes",
			j.Scope.Kind)
	case !has && j.Scope.Kind == "prefixes":
		return problemf(`write prefixes = ["https://www.example.org/docs/"]`,
			"scope of kind prefixes has no prefixes")
	}
	for _, p := range j.Scope.Prefixes {
		if err := checkURL(p); err != nil {
			return err
		}
	}
	return nil
}

func checkGlobs(globs []string) error {
	for _, g := range globs {
		if strings.Contains(g, "/") && !strings.HasPrefix(g, "/") && !strings.HasPrefix(g, "**") &&
			!strings.Contains(g, "://") {
			if looksLikeRegexp(g) {
				return problemf(regexpHint, "%q is a regular expression, not a glob", g)
			}
			return problemf("did you mean \"/"+g+"\" or \"**/"+g+"\"?",
				"glob %q can match no path: paths start with a slash", g)
		}
		if _, err := site.CompileGlob(g); err != nil {
			return problemf("globs are explained in docs/jobs.md", "%s",
				strings.Replace(err.Error(), "bad pattern", "bad glob", 1))
		}
	}
	return nil
}

// checkExclude also wants that the entry points themselves are in scope: a run without them would find
// nothing.
func checkExclude(j *Job) error {
	if err := checkGlobs(j.Scope.Exclude); err != nil || len(j.Seeds()) == 0 {
		return err
	}
	rule, err := j.ScopeRule()
	if err != nil {
		return nil // the problem is another key's, and reported there
	}
	for _, u := range j.Seeds() {
		if ok, why := rule.Admits(u); !ok {
			return problemf("", "the entry point %s is out of scope: %s", u, why)
		}
	}
	return nil
}

// checkSessions wants names of parameters.
func checkSessions(j *Job) error {
	for _, name := range j.Scope.Sessions {
		if name == "" || len(name) > 64 || strings.ContainsAny(name, "?&;=/# ") {
			return problemf("give the name alone, as in [\"visit\"]", "%q is not the name of a parameter", name)
		}
	}
	return nil
}

// checkAliases wants hosts that are not those of the entry points.
func checkAliases(j *Job) error {
	if len(j.Scope.Aliases) > 100 {
		return problemf("", "%d aliases are given; at most 100 are allowed", len(j.Scope.Aliases))
	}
	for _, raw := range j.Scope.Aliases {
		u, ok := j.aliasURL(raw)
		if !ok {
			hint := `write a host such as "example.org"`
			if v, _, err := site.Parse(raw); err == nil {
				hint = fmt.Sprintf("did you mean %q?", v.Host())
			}
			return problemf(hint, "alias %q is no host", raw)
		}
		for _, seed := range j.Seeds() {
			if seed.Host() == u.Host() {
				return problemf("leave it out here, or name the other host in url",
					"%s is the host of the entry point %s, not an alias", u.Host(), seed)
			}
		}
	}
	return nil
}

// checkTypes wants file types as package phm reads them, and says what was probably meant by others.
func checkTypes(types []string) error {
	for _, word := range types {
		if _, err := phm.NewTypes(word); err == nil {
			continue
		}
		name := strings.ToLower(strings.TrimSpace(word))
		hint := `types look like "application/pdf", "image/*", "pdf", "images", "movies" or "sounds"`
		last := name[strings.LastIndexAny(name, ".*")+1:]
		switch {
		case name == "*" || name == "*/*":
			hint = "leave the key out: without it all types are wanted"
		case looksLikeRegexp(name), strings.HasPrefix(name, "*."), strings.HasPrefix(name, "."):
			hint = "this key takes types; patterns of names go into scope.include or scope.exclude"
			if _, err := phm.NewTypes(last); err == nil {
				hint = fmt.Sprintf("did you mean %q?", last)
			}
		default:
			if n := Nearest(name, append(phm.TypeNames(), "image/*", "video/*", "audio/*")); n != "" {
				hint = fmt.Sprintf("did you mean %q?", n)
			}
		}
		return problemf(hint, "%q is no file type", word)
	}
	return nil
}

func checkSuffixes(j *Job) error {
	for _, s := range j.Programs.Suffixes {
		if len(s) < 2 || len(s) > 100 || s[0] != '.' || strings.Contains(s, "/") {
			return problemf(`suffixes look like ".cgi"`, "%q is not a suffix", s)
		}
	}
	return nil
}

func checkDirs(j *Job) error {
	for _, d := range j.Programs.Dirs {
		if d == "" || len(d) > 255 || strings.Contains(d, "/") {
			return problemf(`a single name such as "cgi-bin"; use globs for paths`, "%q is not a directory name", d)
		}
	}
	return nil
}
