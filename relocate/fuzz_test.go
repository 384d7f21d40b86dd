// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"testing"
)

// FuzzScan holds for any bytes in any format and encoding what checkRelocation says.
func FuzzScan(f *testing.F) {
	for _, c := range zoo {
		f.Add(uint8(c.format)-1, uint8(0), []byte(c.doc))
	}
	for _, s := range tokenSeeds {
		f.Add(uint8(HTML)-1, uint8(1), []byte(s))
	}
	f.Add(uint8(HTML)-1, uint8(2), []byte("\xff\xfe<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>\x00"))
	f.Add(uint8(HTML)-1, uint8(3),
		[]byte(
			"<base href=/x/><a href=\"\x83\\.html?\x83\\#\x83\\\">\x83\\</a><style>a{b:url(\"\x83\\\")}</style>"))
	f.Add(uint8(HTML)-1, uint8(4), []byte("\x1b$B$\"\x1b(B<a href=\"\x1b$B$\"\x1b(B\">"))
	f.Add(uint8(HTML)-1, uint8(0),
		[]byte(
			`<meta charset=utf-16><link rel=stylesheet integrity=x href=a crossorigin=y><script crossorigin src=b integrity='z'>`))
	f.Add(uint8(HTML)-1, uint8(0),
		[]byte(`<iframe srcdoc="<base href=/n/><a href=#x><iframe srcdoc='<a href=y>'>">`))
	f.Add(uint8(6), uint8(43), []byte(`"/0.js"`)) // a script in ISO-2022-JP that names another
	headers := [...]string{"", "utf-8", "utf-16le", "shift_jis", "iso-2022-jp", "gb18030", "big5",
		"windows-1251", "utf-16be", "euc-kr", "euc-jp", "koi8-r", "gbk"}
	f.Fuzz(func(t *testing.T, format, header uint8, raw []byte) {
		checkRelocation(t, raw, Input{
			URL:           mustURL(t, "http://zoo.test/dir/page.html"),
			Format:        Format(format%uint8(Script)) + 1,
			HeaderCharset: headers[int(header)%len(headers)],
		})
	})
}
