// SPDX-License-Identifier: Apache-2.0

package relocate

import "testing"

// The URLs of this table are those of Chromium; TestBrowserQueries of package mirror compares all
// characters of the basic plane.
func TestQueryInCharset(t *testing.T) {
	for _, c := range []struct{ charset, text, want string }{
		{"shift_jis", "日本", "%93%FA%96{"},
		{"shift_jis", "ソ表", "%83\\%95\\"},
		{"shift_jis", "¥‾−", "\\~%81|"},
		{"shift_jis", "纊ⅰ￤＂", "%FA\\%FA@%FAU%FAW"},
		{"shift_jis", "é한", "%26%23233%3B%26%2354620%3B"},
		{"big5", "日本", "%A4%E9%A5%BB"},
		{"big5", "功包", "%A5\\%A5]"},
		{"big5", "É", "%26%23201%3B"},
		{"euc-jp", "日本é", "%C6%FC%CB%DC%26%23233%3B"},
		{"gbk", "日本", "%C8%D5%B1%BE"},
		{"euc-kr", "日本", "%EC%ED%DC%E2"},
		{"iso-2022-jp", "日本", "%1B$BF|K\\%1B(B"},
		{"iso-2022-jp", "日é本", "%1B$BF|%1B(B%26%23233%3B%1B$BK\\%1B(B"},
		{"iso-2022-jp", "ｱ", "%1B$B%%22%1B(B"},
		{"windows-1252", "é日", "%E9%26%2326085%3B"},
	} {
		text := ""
		for _, r := range c.text {
			text += "&#x" + string("0123456789abcdef"[r>>12&15]) + string("0123456789abcdef"[r>>8&15]) +
				string("0123456789abcdef"[r>>4&15]) + string("0123456789abcdef"[r&15]) + ";"
		}
		var d Doc
		in := Input{URL: mustURL(t, "http://zoo.test/"), Format: HTML, HeaderCharset: c.charset}
		if err := d.Scan([]byte("<a href='/?q="+text+"'>"), in); err != nil {
			t.Fatal(err)
		}
		if got := string(d.Links[0].URL); got != "http://zoo.test/?q="+c.want {
			t.Errorf("%s: %s: %s, want ?q=%s", c.charset, c.text, got, c.want)
		}
	}
}
