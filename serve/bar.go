// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/site"
)

// A bar over each page says that it is a copy, and of when, and has links to other versions, to the site and
// to the search. It is on a page of ours at the base host, which frames the page at the host of its mirror.
// The two have different origins, so that no script of the page can touch the bar. A navigation of a browser
// (Sec-Fetch-Dest: document) is redirected there; every other request is answered as without a bar.
//
// A mirror by path and one at a listener of its own have one host name only, and no bar.

// barPath comes before NAME/PATH on the base host: PATH of the mirror NAME, below its bar. No name of a
// mirror begins so.
const barPath = "/~"

// way is how a request reaches a mirror.
type way struct {
	name   string
	prefix string // of the mirror's addresses: "" by host, "/NAME" by path, barPath+"NAME" below a bar
	bar    string // origin of the mirror's bars, "" for none
	framed string // below a bar: origin of the mirror
	marked bool   // the page is for the frame below a bar
}

// barOrigin returns the origin of the bars of mirrors whose hosts are below base; "" for none.
func (s *Server) barOrigin(r *http.Request, base string) string {
	if s.NoBar || base == "" {
		return ""
	}
	return s.scheme(r) + "://" + withPort(base, r)
}

// isNavigation reports whether a browser asks for what a window is to show.
func isNavigation(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// hasOtherName reports whether a browser asks at an address of this machine, where mirrors have no names and
// no bars: as localhost they have.
func hasOtherName(s *Server, r *http.Request) bool {
	ip := net.ParseIP(normalHost(r.Host))
	return !s.NoBar && s.base == localhost && isNavigation(r) && ip.IsLoopback()
}

// serveBar answers for addresses below barPath. All but navigations to pages are redirected to the mirror.
func (s *Server) serveBar(w http.ResponseWriter, r *http.Request, path string) {
	name, rest, slash := strings.Cut(path[len(barPath):], "/")
	rest = "/" + rest
	host := normalHost(r.Host)
	if _, err := s.open(name); err != nil {
		s.failed(w, r, "", err)
		return
	}
	bar := ""
	if host == s.base || host == localhost {
		bar = s.barOrigin(r, host)
	}
	own, ours := strings.CutPrefix(rest, wellKnown)
	if bar == "" || !isNavigation(r) || strings.HasPrefix(rest, "/@@") ||
		(ours && !strings.HasPrefix(own, "memento/") && !strings.HasPrefix(rest, changedPath)) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Vary", "Sec-Fetch-Dest")
		redirect(w, http.StatusFound, s.siteAddress(r, name)+rest+query(r.URL))
		return
	}
	if !slash {
		redirect(w, http.StatusMovedPermanently, path+"/"+query(r.URL))
		return
	}
	s.serveSite(w, r, way{
		name:   name,
		prefix: barPath + name,
		bar:    bar,
		framed: s.scheme(r) + "://" + withPort(name+"."+host, r),
	})
}

// barred is a request for something that may be below a bar.
type barred struct{ *view }

// below returns the address of something of the mirror, below its bar if there is one.
func (v barred) below(path string) string {
	if v.bar == "" {
		return v.view.at(path)
	}
	return v.bar + barPath + v.name + path
}

// answer answers a navigation to a file: below barPath with the page that frames it, and otherwise, if it is
// a page, with a redirect to that. All other answers are left to the caller.
func (v barred) answer(f found, a addresses) (done bool, err error) {
	if v.bar == "" || !isNavigation(v.r) {
		return false, nil
	}
	path := v.r.URL.EscapedPath()[len(v.prefix):] + query(v.r.URL)
	var head []byte
	if isPageType(f.r.MIME) {
		if head, err = readPage(v.Table, f.r, barHead); err != nil {
			return false, err
		}
	}
	page := isPageType(f.r.MIME) && !framesRule().Match(head)
	h := v.w.Header()
	switch {
	case v.framed == "" && !page:
		return false, nil
	case v.framed == "" && strings.HasPrefix(v.r.Referer(), v.bar+"/"): // a reader has hidden the bar
		h.Set("Cache-Control", "private, no-cache")
		return false, nil
	case v.framed == "":
		h.Add("Vary", "Sec-Fetch-Dest")
		h.Set("Cache-Control", "no-store")
		redirect(v.w, http.StatusFound, v.below(path))
		return true, nil
	case !page:
		h.Set("Cache-Control", "no-store")
		redirect(v.w, http.StatusFound, v.framed+path)
		return true, nil
	}
	if f.twice { // the frame asks from outside of the mirror
		u, err := v.canonical(f.r)
		if err != nil {
			return false, err
		}
		path = strings.TrimPrefix(a.of(u), v.prefix)
	}
	return true, v.send(f.r, head, v.framed+path)
}

// barHead is how many bytes of a page tell its title, its language, and whether it consists of frames.
const barHead = 16 << 10

// framesRule finds a page of frames. It has no bar: its scripts take the window for their own.
var framesRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<frameset[\s>]`) })

// isolate sets the headers of everything that comes from the mirror. A bar may frame it.
func (v *view) isolate() {
	h := v.w.Header()
	isolate(h, v.prefix != "")
	if v.bar != "" && v.framed == "" && isFramed(v.r) {
		h.Set("Content-Security-Policy", hostPolicy+" "+v.bar)
	}
}

// says returns the bar over a URL, which has the address here in the current version, with links to the
// versions that have it.
func (v barred) says(u, here site.URL, w *words, has func(number int) bool) (*bar, error) {
	all, err := v.site.Versions()
	if err != nil {
		return nil, err
	}
	b := &bar{
		W:       w,
		Name:    v.name,
		Of:      v.name,
		Time:    v.Time,
		Number:  v.Number,
		Newest:  max(v.Number, all[len(all)-1].Number),
		Earlier: barLink{Sign: "◀", What: w.First},
		Later:   barLink{Sign: "▶", What: w.Last},
	}
	if !v.Nowhere {
		b.Live = u.String()
		_, b.Of, _ = strings.Cut(v.Primary, "://")
	}
	if (v.bar+v.prefix != "") && v.searched(v.r) != nil { // the host of a mirror alone has no search
		b.Find = v.bar + findPath
	}
	for i, is := range all {
		if !has(is.Number) {
			continue
		}
		at := v.at(u, is.Time)
		if i == len(all)-1 && here.Origin() == v.Primary {
			at = v.below(here.RequestURI())
		}
		if is.Number == v.Number {
			b.Here = at
		}
		switch day := w.Day(is.Time); {
		case is.Number < v.Number:
			b.Earlier = barLink{b.Earlier.Sign, at, say(w.Earlier, "date", day), day}
		case is.Number > v.Number && b.Later.Address == "":
			b.Later = barLink{b.Later.Sign, at, say(w.Later, "date", day), day}
		}
		b.mark(is, at, len(all)-i <= calendarDays)
	}
	slices.Reverse(b.Calendar)
	return b, nil
}

// calendarDays is how many of the newest versions are in the calendar; of those before, it has the first of
// each month.
const calendarDays = 366

// mark puts a version into the calendar.
func (b *bar) mark(is Version, at string, always bool) {
	t, n := is.Time.UTC(), len(b.Calendar)
	name := say(b.W.Month, "month", b.W.Months[t.Month()-1], "year", t.Year())
	if n == 0 || b.Calendar[n-1].Name != name {
		b.Calendar = append(b.Calendar, barMonth{Name: name})
	} else if !always && is.Number != b.Number {
		return
	}
	month := &b.Calendar[len(b.Calendar)-1]
	day := barDay{
		Time:    t,
		Address: at,
		What:    say(b.W.Version, "n", is.Number, "date", b.W.Day(t)+t.Format(" 15:04 UTC")),
		Here:    is.Number == b.Number,
	}
	if n := len(month.Days); n > 0 && month.Days[n-1].Time.Day() == t.Day() {
		month.Days[n-1].Timed, day.Timed = true, true
	}
	month.Days = append(month.Days, day)
}

// at is the address of the Memento of u at a time, below its bar.
func (v barred) at(u site.URL, t time.Time) string {
	return v.below(wellKnown + "memento/" + t.UTC().Format(stamp) + "/" + u.String())
}

// private begins the head of a page that only navigations get, and no search engine lists.
func (v barred) private() {
	h := v.w.Header()
	clear(h)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Sec-Fetch-Dest")
	h.Set("X-Robots-Tag", "noindex")
}

// words chooses the language for a reader, of a page that may have one.
func (v barred) words(head []byte) *words {
	page := ""
	if m := langRule().FindSubmatch(head); m != nil {
		page = string(m[1])
	}
	return v.languages.choose(v.r.Header.Get("Accept-Language"), page)
}

var langRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<html\s[^>]*\blang=["']?([a-z-]+)`)
})

// send sends the page that frames another one, which is at an address.
func (v barred) send(r Resource, head []byte, at string) error {
	w := v.words(head)
	here, err := v.canonical(r)
	if err != nil {
		return err
	}
	b, err := v.says(r.URL, here, w, func(int) bool { return true })
	if err != nil {
		return err
	}
	b.Alone = at
	all, known, err := history(v.r.Context(), v.site, r.URL)
	if err != nil {
		return err
	}
	if (inEffect(all, v.Time) > 0 || (!known && b.Earlier.Address != "")) && r.Size <= largestFramed {
		b.Changed = strings.Replace(v.at(r.URL, v.Time), mementos, changedPath, 1)
	}
	v.private()
	v.w.Header().Set("Link", link(r.URL.String(), `rel="canonical"`))
	scheme, host, _ := strings.Cut(v.bar, "://")
	v.sendPage(v.w, v.r, http.StatusOK, "framed", struct {
		W            *words
		Bar          *bar
		Title, Frame string
	}{w, b, titleOf(r, head) + " · " + w.Day(v.Time), marked(at)},
		"script-src 'self'", "frame-src "+scheme+"://*."+host)
	return nil
}
