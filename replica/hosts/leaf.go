// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bytes"
	"mirrord/site"
	"strings"
)

// leafOf returns the last two segments of a path as copies are compared: percent-decoded, without the ending
// of a page; nothing of "/" and of a path with a query. It may be a part of path.
func leafOf(path []byte) []byte {
	if len(path) < 2 || bytes.IndexByte(path, '?') >= 0 {
		return nil
	}
	name := bytes.LastIndexByte(path[:len(path)-1], '/')
	if name < 0 {
		return nil
	}
	from := 1
	if dir := bytes.LastIndexByte(path[:name], '/'); dir >= 0 {
		from = dir + 1
	}
	leaf := path[from:]
	if bytes.IndexByte(leaf, '%') >= 0 {
		leaf = []byte(site.Unescape(string(leaf)))
	}
	if dot := bytes.LastIndexByte(leaf, '.'); dot > 0 && leaf[dot-1] != '/' {
		switch string(leaf[dot+1:]) {
		case "html", "htm", "xhtml", "shtml", "php", "HTML", "HTM":
			leaf = leaf[:dot]
		}
	}
	return leaf
}

// shapeOf is a leaf with one number for all numbers.
func shapeOf(leaf []byte) (out []byte) {
	for i, c := range leaf {
		switch {
		case c < '0' || c > '9':
			out = append(out, c)
		case i == 0 || leaf[i-1] < '0' || leaf[i-1] > '9':
			out = append(out, '0')
		}
	}
	return out
}

// tells says whether a leaf is of the kind that other sites do not have by chance: it has a word of three
// letters or more that is not on every other site, a letter beyond ASCII, a number of five digits or more
// that is no date, or a name of letters and digits mixed, as 1d4f9. That two hosts have node/17 or
// images/logo.gif says nothing, unless few have it.
func tells(leaf []byte) bool {
	for i := 0; i < len(leaf); {
		if leaf[i] >= 0x80 {
			return true
		}
		from, parts := i, 0
		for i < len(leaf) {
			part := i
			for i < len(leaf) && isTerm(leaf[i]|0x20) {
				i++
			}
			if i-part >= 3 && !commonWords[strings.ToLower(string(leaf[part:i]))] {
				return true
			}
			digits := i
			for i < len(leaf) && '0' <= leaf[i] && leaf[i] <= '9' {
				i++
			}
			if n := i - digits; n >= 5 && !(n == 8 && (leaf[digits] == '1' || leaf[digits] == '2')) {
				return true
			}
			if i == part {
				break
			}
			if digits > part {
				parts++
			}
			if i > digits {
				parts++
			}
		}
		if parts >= 3 && i-from >= 5 {
			return true
		}
		i++
	}
	return false
}

// commonWords are those that sites of any kind have in their paths.
var commonWords = func() map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(`
		index main home default welcome about contact contacts news search login logout register help
		faq links link sitemap map robots favicon ico images image img pics pictures photo photos
		gallery icons icon logo banner spacer css style styles script scripts static assets media files
		file download downloads upload uploads docs doc page pages node article articles post posts item
		items product products category categories tag tags archive archives blog forum forums topic
		topics thread viewtopic showthread viewforum user users member members profile view show list
		story stories event events php asp aspx jsp cgi bin html htm shtml xhtml xml rss feed atom txt
		pdf gif jpg jpeg png svg zip json www pub content impressum kontakt jquery terms privacy
		copyright license readme`) {
		words[w] = true
	}
	return words
}()
