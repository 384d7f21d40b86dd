// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"slices"
	"strings"
)

// PriorityRule is one [[priority]] of a job: pages that matter more than others.
type PriorityRule struct {
	Match []string // globs
	Every int64    // what matches is looked at in every so many runs at least
}

// maxPriorities bounds the rules of a job: each URL is compared with all of them.
const maxPriorities = 100

const priorityHint = `write [[priority]] and below it match = ["/news/**"]`

// priority decodes the value of [[priority]]: tables, or globs alone.
func (p *parser) priority(v any) {
	if s, ok := v.(string); ok {
		v = []any{s}
	}
	list, ok := v.([]any)
	if !ok {
		what := typeName(v)
		if _, table := v.(map[string]any); table {
			what = "one table in single brackets"
		}
		p.fail("priority", "priority", problemf(priorityHint, "priority wants a list of tables, not %s", what))
		return
	}
	var out []PriorityRule
	for i, e := range list {
		path := fmt.Sprintf("priority[%d]", i)
		switch e := e.(type) {
		case string:
			out = append(out, PriorityRule{Match: []string{e}, Every: 1})
		case map[string]any:
			out = append(out, p.onePriority(path, e))
		default:
			p.fail("priority", path, problemf(priorityHint, "an element of priority is %s", typeName(e)))
		}
	}
	p.job.Priority = out
}

// onePriority decodes one table.
func (p *parser) onePriority(path string, t map[string]any) PriorityRule {
	out := PriorityRule{Every: 1}
	keys := []Key{
		{
			Name:    "match",
			Type:    "list of globs",
			Example: `["/news/**"]`,
			field:   func(*Job) any { return &out.Match },
		},
		{
			Name:    "every",
			Type:    "number",
			Unit:    "runs",
			Example: "2",
			Min:     1,
			Max:     1000,
			field:   func(*Job) any { return &out.Every },
		},
	}
	for _, name := range sortedKeys(t) {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
		if i < 0 {
			hint := "known here are match and every"
			if n := Nearest(name, []string{"match", "every"}); n != "" {
				hint = fmt.Sprintf("did you mean %q?", n)
			} else if slices.Contains([]string{"include", "glob", "globs", "path", "url", "pattern"}, name) {
				hint = `did you mean "match"?`
			}
			p.fail("priority", path+"."+name, problemf(hint, "unknown key %q of [[priority]]", name))
		} else if err := decode(keys[i], p.job, t[name]); err != nil {
			p.fail("priority", path+"."+name, err)
		}
	}
	switch err := checkGlobs(out.Match); {
	case p.bad["priority"]:
	case err != nil:
		p.fail("priority", path+".match", err)
	case len(out.Match) == 0:
		p.fail("priority", path, problemf(priorityHint, "a [[priority]] matches nothing"))
	}
	return out
}

// checkPriority checks what was not read from a file, too.
func checkPriority(j *Job) error {
	if len(j.Priority) > maxPriorities {
		return problemf("", "%d times [[priority]]; at most %d are allowed", len(j.Priority), maxPriorities)
	}
	for _, x := range j.Priority {
		if err := checkGlobs(x.Match); err != nil {
			return err
		}
	}
	return nil
}

// EncodePriorities returns the TOML value of priorities.
func EncodePriorities(list []PriorityRule) string {
	parts := make([]string, 0, len(list))
	for _, x := range list {
		parts = append(parts, fmt.Sprintf("{ match = %s, every = %d }", encode(&x.Match), x.Every))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
