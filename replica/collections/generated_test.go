// SPDX-License-Identifier: Apache-2.0

//go:build unix

package collections

import (
	"strconv"

	"mirrord/replica/hash"
	"mirrord/replica/text"
)

// generated makes n pages on hosts of a thousand: every fifth host copies an earlier one, under another
// directory, with a tenth of the bytes of its sketches changed, and one page in a hundred is the same error
// page.
func generated(n int) ([]Address, []text.ContentDigest) {
	pages, digests := make([]Address, n), make([]text.ContentDigest, n)
	for i := range digests {
		pages[i], digests[i] = generatedPage(i)
		if i%perHost > 0 {
			pages[i].Host = pages[i-1].Host
		}
	}
	return pages, digests
}

const perHost = 1000

// generatedPage makes page i of these.
func generatedPage(i int) (Address, text.ContentDigest) {
	host, at := i/perHost, i%perHost
	name := func(i int) string {
		return strconv.Itoa(i%perHost/50) + "/" + strconv.FormatUint(hash.Mix(uint64(i))&0xffffff, 36) + ".html"
	}
	a := Address{"h" + strconv.Itoa(host) + ".test", "/doc/" + name(i)}
	d := text.ContentDigest{Words: 1000, Text: hash.Mix(uint64(i) + 1)}
	x := d.Text
	switch copies := host%5 == 4; {
	case copies:
		from := int(hash.Mix(uint64(host))%uint64(host-host/5))/4*5*perHost + at
		a.Path = "/mirror/" + name(from)
		if hash.Mix(x)%100 == 0 {
			break
		}
		_, of := generatedPage(from)
		d.Sketch = of.Sketch
		for j := range 12 {
			d.Sketch[hash.Mix(x+uint64(j))%text.Bins]++
		}
		return a, d
	case hash.Mix(x)%100 != 0:
		for j := range d.Sketch {
			if j%8 == 0 {
				x = hash.Mix(x + 1)
			}
			d.Sketch[j] = byte(x >> (j % 8 * 8))
		}
		return a, d
	}
	d.Text, d.Sketch[0] = 5, 5
	return a, d
}
