// SPDX-License-Identifier: Apache-2.0

package report

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"text/template"
	"unicode"

	"mirrord/evolution/policy"
	"mirrord/fetch/heads"
	"mirrord/internal/count"
	"mirrord/internal/wording"
)

//go:embed texts.txt
var texts embed.FS

// text is what a template makes of a value.
func text(name string, v any) (string, error) {
	return wording.Templates{Files: texts, Glob: "texts.txt", Words: template.FuncMap{
		"dir":     func(p string) string { return strings.TrimSuffix(p, "/") + "/" },
		"n":       count.OfAny,
		"visible": visible,
	}}.Text(name, v)
}

// WriteText writes the explanation for a person.
func (x *Explanation) WriteText(w io.Writer) error {
	s, err := text("explanation", x)
	if err == nil {
		_, err = fmt.Fprintln(w, s)
	}
	return err
}

// visible are the lines of a head without what a terminal would obey: the reason phrase of an answer may hold
// any bytes.
func visible(h *heads.Head) []string {
	return strings.Split(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' {
			return unicode.ReplacementChar
		}
		return r
	}, strings.TrimSuffix(h.String(), "\n")), "\n")
}

// WriteText writes the plan for a person. Directories below one of which nothing is asked, or all, are
// counted with it unless all is set.
func (p *PlanReport) WriteText(to io.Writer, all bool) error {
	s, err := text("plan", struct {
		*PlanReport
		Observed string // the reason of what evidence showed
		Folded   []foldedDir
	}{p, policy.Observed.String(), fold(p.Dirs, all)})
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, s)
	return errors.Join(err, w.Flush())
}

// foldedDir is a directory and those below it that are counted with it.
type foldedDir struct {
	PlanDir
	Below int
}

// fold counts directories with the one above them, unless all are wanted.
func fold(dirs []PlanDir, all bool) (out []foldedDir) {
	for i := range dirs {
		d := &dirs[i]
		if n := len(out) - 1; !all && n >= 0 && alikeBelow(&out[n].PlanDir, d) {
			x := &out[n]
			x.Below++
			x.Known += d.Known
			x.Asked += d.Asked
			x.Audited += d.Audited
			x.Spared += d.Spared
			x.Expected += d.Expected
			continue
		}
		out = append(out, foldedDir{PlanDir: *d})
	}
	return out
}

// alikeBelow reports whether b lies below a and the same is said of both.
func alikeBelow(a, b *PlanDir) bool {
	below := a.Path == "/" || strings.HasPrefix(b.Path, a.Path+"/")
	return below && a.Why == b.Why && a.Rule == b.Rule &&
		((a.Asked == 0 && b.Asked == 0) || (a.Spared == 0 && b.Spared == 0))
}
