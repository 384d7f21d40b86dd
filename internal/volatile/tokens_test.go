// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
)

// Of random bytes in base64 one value in 64 begins as a path, and others as a sign or with two in a row.
func TestAnyBase64IsAToken(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	token := func(bytes int) string {
		b := make([]byte, bytes)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	for name, form := range map[string]string{
		"hidden input": `<form><input type="hidden" name="token" value="%s"></form>`,
		"meta":         `<meta name="csrf-token" content="%s" />`,
		"nonce":        `<script nonce="%s">x()</script>`,
		"script":       `<script>RLCONF={"wgRequestId":"%s","wgCSPNonce":false};</script>`,
		"assignment":   "<script>\nvar session = '%s';\n</script>",
		"data":         `<div id="app" data-key="%s">x</div>`,
		"comment":      "<!-- request %s of web -->",
		"text":         `<p id="foot">request %s done</p>`,
	} {
		for _, size := range []int{18, 24, 32, 64} {
			page := func(v string) []byte { return pageOf("One", "", strings.ReplaceAll(form, "%s", v)) }
			k, missed := learned(t, page("7"+token(size)[1:]), page("x"+token(size)[1:])), 0
			for range 300 {
				if _, _, same := k.Same(page(token(size)), page(token(size))); !same {
					missed++
				}
			}
			if missed > 5 { // short ones may look like words
				t.Errorf("%s of %d bytes: %d of 300 pairs are not masked", name, size, missed)
			}
		}
	}
}

// A token that has no digit by chance is masked where all have its length, and a word is not.
func TestTokensWithoutDigits(t *testing.T) {
	for _, c := range []struct {
		attribute, a, b, without string
		words                    []string
	}{
		{"name", "form-b073fa79", "form-38626176", "form-bfcfbbaf", []string{"form-calendar", "bfcfbbaf"}},
		{"name", "b073fa79", "38626176", "bfcfbbaf", []string{"calendar", "newsfeed"}},
		{"data-key", "aGh5zKqW3w", "Zt7qPwLm2x", "aGhTzKqWbw", []string{"newsletter", "NewsLetter"}},
	} {
		page := func(v string) []byte {
			return pageOf("One", "", `<form action="/search" `+c.attribute+`="`+v+`"><input name="q"></form>`)
		}
		k := learned(t, page(c.a), page(c.b))
		if _, _, same := k.Same(page(c.a), page(c.without)); !same {
			t.Errorf("%s is no token where %s is", c.without, c.a)
		}
		for _, w := range c.words {
			if _, _, same := k.Same(page(c.a), page(w)); same {
				t.Errorf("%s counts as a token where %s is", w, c.a)
			}
		}
	}
}
