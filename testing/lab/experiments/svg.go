// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// svg writes a drawing. Coordinates are in pixels, from the top left.
type svg struct {
	w *bufio.Writer
}

// svgStyle has the colours of both schemes, so that a drawing looks right on a light and on a dark page.
const svgStyle = `
:root{--page:#fff;--ink:#1c1e21;--soft:#62676e;--line:#d9dce0;--blank:#eceef1;--adaptive:#1f66b5;--near:#b8560b;--other:#7b8087;--miss:#d0182b;--d1:#cfe0f3;--d2:#9cc1e6;--d3:#5f9bd3;--d4:#2c6fb2;--d5:#0b3f78}
@media(prefers-color-scheme:dark){:root{--page:#15171a;--ink:#e6e8ea;--soft:#9aa0a8;--line:#363a40;--blank:#24282d;--adaptive:#6db0f5;--near:#f0a050;--other:#8e949c;--miss:#ff5c6c;--d1:#1d3550;--d2:#27527f;--d3:#3c7cbb;--d4:#6fabe3;--d5:#c4e0fb}}
text{font:11px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--ink)}
.title{font-size:15px;font-weight:600}.head{font-size:12px;font-weight:600}.soft{fill:var(--soft)}.small{font-size:10px;fill:var(--soft)}
.page{fill:var(--page)}.grid{stroke:var(--line);fill:none}.axis{stroke:var(--soft);fill:none}
.end{text-anchor:end}.mid{text-anchor:middle}
.adaptive{stroke:var(--adaptive);fill:none;stroke-width:2}.adaptive.dot{fill:var(--adaptive);stroke:var(--page);stroke-width:1}text.adaptive{fill:var(--adaptive);stroke:none}
.near{stroke:var(--near);fill:none;stroke-width:1.5}.near.dot{fill:var(--near);stroke:var(--page);stroke-width:1}.near.ring{fill:var(--page)}text.near{fill:var(--near);stroke:none}
.other{stroke:var(--other);fill:none;stroke-width:1.5}.other.line{stroke-dasharray:5 3}.other.dot{fill:var(--other);stroke:var(--page);stroke-width:1}text.other{fill:var(--other);stroke:none}
.d0{fill:var(--blank)}.d1{fill:var(--d1)}.d2{fill:var(--d2)}.d3{fill:var(--d3)}.d4{fill:var(--d4)}.d5{fill:var(--d5)}
.skip{stroke:var(--other);stroke-width:1.6;fill:none}.few{stroke:var(--other);stroke-width:1;stroke-dasharray:1.5 2.5;fill:none}.miss{fill:var(--miss);stroke:var(--page);stroke-width:.7}.bar{fill:var(--other)}.asked{fill:var(--adaptive)}
`

// newSVG begins a drawing of a size. The title is for those who cannot see it.
func newSVG(w io.Writer, width, height int, title string) *svg {
	s := &svg{bufio.NewWriter(w)}
	s.printf(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img"><title>%s</title><style>%s</style>`,
		width, height, width, height, escape(title), svgStyle)
	s.printf(`<rect class="page" width="%d" height="%d"/>`+"\n", width, height)
	return s
}

// end finishes the drawing.
func (s *svg) end() error {
	s.printf("</svg>\n")
	return s.w.Flush()
}

func (s *svg) printf(format string, args ...any) { fmt.Fprintf(s.w, format, args...) }

func (s *svg) text(class string, x, y float64, text string) {
	s.printf(`<text class="%s" x="%s" y="%s">%s</text>`+"\n", class, num(x), num(y), escape(text))
}

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	s.printf(`<path class="%s" d="M%s %sL%s %s"/>`+"\n", class, num(x1), num(y1), num(x2), num(y2))
}

func (s *svg) rect(class string, x, y, w, h float64) {
	s.printf(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, num(x), num(y),
		num(w), num(h))
}

// path writes a shape that is made of many.
func (s *svg) path(class, d string) {
	if d != "" {
		s.printf(`<path class="%s" d="%s"/>`+"\n", class, d)
	}
}

// box is a rectangle as part of a path.
func box(b *strings.Builder, x, y, w, h float64) {
	fmt.Fprintf(b, "M%s %sh%sv%sh-%sz", num(x), num(y), num(w), num(h), num(w))
}

// disc is a circle as part of a path.
func disc(b *strings.Builder, x, y, r float64) {
	fmt.Fprintf(b, "M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 -%s 0", num(x-r), num(y), num(r), num(r), num(2*r),
		num(r), num(r), num(2*r))
}

// diamond is a square on its corner as part of a path.
func diamond(b *strings.Builder, x, y, r float64) {
	fmt.Fprintf(b, "M%s %sl%s %sl%s %sl-%s %sz", num(x), num(y-r), num(r), num(r), num(-r), num(r),
		num(r), num(-r))
}

// num writes a coordinate to a tenth of a pixel.
func num(v float64) string {
	t := strconv.FormatFloat(v, 'f', 1, 64)
	t = strings.TrimSuffix(t, ".0")
	if t == "-0" {
		return "0"
	}
	return t
}

// escape makes text of XML; what XML cannot have is a question mark.
func escape(text string) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\t' && r != '\n') || r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, text)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}
