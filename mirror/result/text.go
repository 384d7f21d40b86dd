// SPDX-License-Identifier: Apache-2.0

package result

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"mirrord/internal/count"
	"mirrord/internal/wording"
)

// shownFailures is how many failures the text of a summary names.
const shownFailures = 5

// shownGaps is how many gaps the text of a summary names.
const shownGaps = 10

// WriteText writes the summary for a person.
func (s *Summary) WriteText(w io.Writer) error { return s.WriteTextFor(w, "") }

// WriteTextFor is WriteText; full is the command that makes a run which requests everything, "" for none.
func (s *Summary) WriteTextFor(w io.Writer, full string) error {
	gaps := s.Gaps.List[:min(len(s.Gaps.List), shownGaps)]
	named := func(f FailedURL) bool {
		return slices.ContainsFunc(gaps, func(g Gap) bool {
			return (g.URL == f.URL) || ((g.Origin != "") && strings.HasPrefix(f.URL, g.Origin+"/"))
		})
	}
	failures := slices.DeleteFunc(slices.Clone(s.Failures), named)
	shown := failures[:min(len(failures), shownFailures)]
	text, err := wording.Templates{Files: texts, Glob: "summary.txt", Words: template.FuncMap{
		"ago":   count.Ago,
		"bytes": Bytes,
		"gone":  count.FirstGone,
		"n":     count.OfAny,
		"span":  count.Span,
	}}.Text("summary", struct {
		*Summary
		Full          string
		ShownGaps     []Gap
		MoreGaps      int
		ShownFailures []FailedURL
		MoreFailures  int
	}{s, full, gaps, s.Gaps.Count - len(gaps), shown, len(failures) - len(shown)})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text+"\n")
	return err
}

//go:embed summary.txt
var texts embed.FS

// Bytes writes a number of bytes for a person, in powers of 1000.
func Bytes(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1000, 0
	for (v >= 999.95) && (i < len(units)-1) {
		v, i = v/1000, i+1
	}
	return fmt.Sprintf("%.1f %cB", v, units[i])
}
