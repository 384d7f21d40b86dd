// SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"net/http"
	"strings"

	"mirrord/app/look"
)

// asked is the question since when a page says something, and its answer.
type asked struct {
	Job, Path string
	Version   int // as of which it is asked
	Says      string
	Found     *look.Wording // nil: it was not asked yet
}

// besideData is what the page of two versions of a file shows.
type besideData struct {
	Job, Path string
	Line      timeline // its Last is 0 when the two are no neighbours
	Sides     [2]side
	Words     *[2]int // that differ: of the older and of the newer version; nil for all but pages
	Picture   bool
	Asked     asked
}

// side is one of two versions of a file.
type side struct {
	*look.KeptPage
	Frame string // its address in a frame, or that of the picture; ""
	Raw   string // where mirrord serve has it; ""
	Open  string // the page about it
}

// besidePage shows a file of two versions side by side.
func besidePage(v *visit) error {
	r, err := sidesOf(v)
	if err != nil {
		return err
	}
	d := besideData{Job: v.job}
	both := true
	for i, n := range r.Pair {
		k, err := look.PageOf(v.r.Context(), v.App, look.KeptPageRequest{
			Job:     v.job,
			Version: n,
			Path:    r.Path,
		})
		if err != nil {
			return err
		}
		d.Path, both = k.Path, both && k.File != nil
		r.Pair[i] = k.Version().Number
		d.Sides[i] = side{
			KeptPage: k,
			Raw:      rawPage(v, k),
			Open:     viewPath(v.job, k.Version().Number, k.Path),
		}
	}
	r.Path = d.Path
	a, b := &d.Sides[0], &d.Sides[1]
	if b.Index == a.Index+1 {
		d.Line = lineOf(v.job, "beside", d.Path, b.Versions, b.Index)
	}
	d.Asked = asked{
		Job:     v.job,
		Path:    d.Path,
		Version: b.Version().Number,
	}
	shown, err := look.SideOf(v.App, r)
	if err != nil {
		return err
	}
	if shown != nil {
		d.Words, d.Picture = shown.Words, shown.Words == nil
		a.Frame = pairPath(v.job, "side", r.Pair[0], r.Pair[1], d.Path)
		b.Frame = a.Frame + "&newer=1"
	}
	framing(v, "'self'")
	return v.show("beside.html", "Side by side: "+v.job, d)
}

// sidesOf reads the two versions and the path of a form.
func sidesOf(v *visit) (r look.SideRequest, err error) {
	r = look.SideRequest{
		Job:   v.job,
		Newer: v.r.FormValue("newer") != "",
		Path:  strings.TrimSpace(v.r.FormValue("path")),
	}
	if r.Pair[0], err = v.number("from"); err != nil {
		return r, err
	}
	r.Pair[1], err = v.number("to")
	return r, err
}

// sidePage sends one of two versions of a page, with the words that differ marked, or of a picture. It is an
// origin of its own, and loads nothing but what mirrord serve has of the mirror.
func sidePage(v *visit) error {
	r, err := sidesOf(v)
	if err != nil {
		return err
	}
	from, base := "", ""
	if at := mirrorsAt(v); at != "" {
		number := r.Pair[0]
		if r.Newer {
			number = r.Pair[1]
		}
		if base, err = placeOf(v, number, r.Path); err != nil {
			return err
		}
		from = " " + at
	}
	css, err := files.ReadFile("static/frame.css")
	if err != nil {
		return err
	}
	script, err := files.ReadFile("static/frame.js")
	if err != nil {
		return err
	}
	r.Head = base + "<style>" + string(css) + "</style><script>" + string(script) + "</script>"
	s, err := look.SideOf(v.App, r)
	if err != nil {
		return err
	}
	if s == nil {
		return errNoPage
	}
	frameHeaders(v.w.Header(), script, from)
	send(v.w, v.r, http.StatusOK, s.Type, s.Body)
	return nil
}

// frameHeaders has a page be an origin of its own, in a frame of ours, that runs one script and loads
// pictures, styles and fonts from one place.
func frameHeaders(h http.Header, script []byte, from string) {
	sum := sha256.Sum256(script)
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "img-src data:" + from, "font-src data:" + from, "media-src" + from,
		"style-src 'unsafe-inline'" + from, "base-uri" + from, "form-action 'none'", "frame-ancestors 'self'",
		"script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'", "sandbox allow-scripts",
	}, "; "))
}

// placeOf is the element that has the links of a page lead to its version in mirrord serve.
func placeOf(v *visit, number int, p string) (string, error) {
	k, err := look.PageOf(v.r.Context(), v.App, look.KeptPageRequest{
		Job:     v.job,
		Version: number,
		Path:    p,
	})
	primary := v.Daemon.Titles([]string{v.job})[v.job].Primary
	if err != nil || k.File == nil || primary == "" {
		return "", err
	}
	k.File.URL = strings.TrimSuffix(primary, "/") + "/" + escapePath(k.Path) // where its links are right
	return `<base href="` + html.EscapeString(rawPage(v, k)) + `">`, nil
}
