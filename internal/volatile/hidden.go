// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"slices"
)

// hiddenIn names what two bodies differ in that say the same.
func hiddenIn(old, now []byte) string {
	if bytes.Equal(withoutPixels(old), withoutPixels(now)) {
		return "<img width=1 height=1>"
	}
	return hiddenMark
}

// hiddenMark is the attribute in which Cloudflare hides a mail address.
const hiddenMark = "data-cfemail"

// A picture of one pixel counts visitors, or makes a program do its tasks when they are due: then it is in
// some answers only. No reader sees it, nor a comment directly beside it.
var (
	imgTag = regexp.MustCompile(`(?i)(?:<!--[^<>]{0,80}-->\s{0,8})?<img\s[^>]*>(?:\s{0,8}<!--[^<>]{0,80}-->)?`)
	narrow = regexp.MustCompile(`(?i)\swidth\s*=\s*["']?[01](?:px)?["'\s/>]`)
	low    = regexp.MustCompile(`(?i)\sheight\s*=\s*["']?[01](?:px)?["'\s/>]`)
)

// withoutPixels returns a page without pictures of one pixel, and without the line break of a line of these.
func withoutPixels(page []byte) []byte {
	var out []byte
	at := 0
	for _, m := range pixels(page) {
		from, to := m[0], m[1]
		if bytes.HasSuffix(page[:from], []byte("\n")) && bytes.HasPrefix(page[to:], []byte("\n")) {
			to++
		}
		out, at = append(out, page[at:from]...), to
	}
	if at == 0 {
		return page
	}
	return append(out, page[at:]...)
}

// pixels returns where the pictures of one pixel of a page are, with the comments beside them.
func pixels(page []byte) (at [][]int) {
	if !narrow.Match(page) || !low.Match(page) {
		return nil
	}
	return slices.DeleteFunc(imgTag.FindAllIndex(page, -1), func(m []int) bool {
		tag := page[m[0]:m[1]]
		return !narrow.Match(tag) || !low.Match(tag)
	})
}

// revealed returns a page without what no reader sees, and in which the mail addresses that Cloudflare hides
// are as under the key 0. The first byte of such an address is a key that each answer draws, with which the
// others are combined.
func revealed(page []byte) []byte { return addressed(withoutPixels(page)) }

// addressed returns a page with the mail addresses as in revealed.
func addressed(page []byte) []byte {
	own := false
	for _, mark := range [...]string{hiddenMark + `="`, "/cdn-cgi/l/email-protection#"} {
		for at := 0; ; {
			i := bytes.Index(page[at:], []byte(mark))
			if i < 0 {
				break
			}
			at += i + len(mark)
			end := at
			for end < len(page) && (digit(page[end]) || (page[end]|0x20 >= 'a' && page[end]|0x20 <= 'f')) {
				end++
			}
			raw, err := hex.DecodeString(string(page[at:end]))
			if err != nil || len(raw) == 0 {
				continue
			}
			if !own {
				page, own = bytes.Clone(page), true
			}
			for k, key := 0, raw[0]; k < len(raw); k++ {
				raw[k] ^= key
			}
			hex.Encode(page[at:end], raw)
			at = end
		}
	}
	return page
}
