// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A bar frames not quite the page, but the page with frameTags at its beginning, at its own address with
// barMark. By them its links and forms lead the whole window: a link to another site leaves the copy, and the
// address of the window is always that of the page that is seen.

// barMark ends the query of a page that a bar frames.
const barMark = "mirrord-bar"

// Without scripts a link to a part of the page loads it again.
const (
	frameTag  = `<script src="` + frameScriptPath + `"></script>`
	frameTags = `<noscript><base target="_top"></noscript>` + frameTag
)

const frameScriptPath = wellKnown + "frame.js"

const frameScript = `"use strict";
{
	const lead = e => {
		if (!e.hasAttribute("target") && !document.querySelector("base[target]")) e.target = "_top"
	}
	addEventListener("click", e => {
		const a = e.composedPath().find(x => x instanceof HTMLAnchorElement || x instanceof HTMLAreaElement)
		const [to, part] = a && !a.hasAttribute("download") ? a.href.split("#") : []
		if (/^https?:/.test(to) && (part === undefined || to !== location.href.split("#")[0])) lead(a)
	}, true)
	addEventListener("submit", e => lead(e.target), true)
}
`

// marked returns the address with barMark.
func marked(at string) string {
	if strings.Contains(at, "?") {
		return at + "&" + barMark
	}
	return at + "?" + barMark
}

// unmarked takes barMark from the query of a request.
func unmarked(r *http.Request) (*http.Request, bool) {
	rest, ok := strings.CutSuffix(r.URL.RawQuery, barMark)
	if !ok || (rest != "" && rest[len(rest)-1] != '&') {
		return r, false
	}
	u := *r.URL
	u.RawQuery, u.ForceQuery = strings.TrimSuffix(rest, "&"), rest == "&"
	return withURL(r, &u), true
}

func withURL(r *http.Request, u *url.URL) *http.Request {
	out := r.WithContext(r.Context())
	out.URL = u
	return out
}

// isFramed reports whether a browser asks for what a part of a page is to show.
func isFramed(r *http.Request) bool {
	return slices.Contains([]string{"iframe", "frame", "embed", "object"}, r.Header.Get("Sec-Fetch-Dest"))
}

// largestFramed is the size in bytes of the largest page that gets frameTags: it is in memory then.
const largestFramed = 4 << 20

// tagsOf returns the tags for a page of HTML: none for one in UTF-16, and one of XML without a head.
func tagsOf(r Resource, page []byte) string {
	utf16 := bytes.HasPrefix(page, []byte("\xff\xfe")) || bytes.HasPrefix(page, []byte("\xfe\xff")) ||
		strings.HasPrefix(strings.ToLower(r.Charset), "utf-16")
	switch xml := strings.Contains(r.MIME, "+xml"); {
	case utf16, xml && !bytes.Contains(frontRule().Find(page), []byte("<head")):
		return ""
	case xml:
		return frameTag
	}
	return frameTags
}

// forFrame returns a page as it is framed.
func forFrame(v *view, r Resource) (Resource, error) {
	if !v.marked || !isFramed(v.r) || !strings.Contains(r.MIME, "html") || r.Size > largestFramed {
		return r, nil
	}
	page, err := readPage(v.Table, r, largestFramed)
	if err != nil {
		return r, err
	}
	if tags := tagsOf(r, page); tags != "" {
		r = instead(v, r, slices.Insert(page, len(frontRule().Find(page)), []byte(tags)...))
	}
	return r, nil
}

// frontRule finds what comes before the first element of a page's head, if anything does.
var frontRule = sync.OnceValue(func() *regexp.Regexp {
	const in = `(?:[^>"']|"[^"]*"|'[^']*')*>`
	return regexp.MustCompile(`(?is)\A\x{FEFF}?(?:\s|<!--.*?-->|<!doctype` + in + `|<\?.*?>|<html\b` + in +
		`|<head\b` + in + `)*`)
})
