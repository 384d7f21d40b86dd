// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"fmt"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

// oldPages are those in other encodings than UTF-8, each declared in another way.
func (b *builder) oldPages() map[string]*file {
	ja := `<!DOCTYPE html>
<html lang="ja"><head>
<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">
<title>ケストレル岬天文台</title>
<link rel="stylesheet" href="/assets/style.css">
</head><body><main>
<h1>ケストレル岬天文台</h1>
<p class="lead">一八七四年から、この岬では誰かが夜空を見て書き留めてきました。</p>
<p><img src="/gallery/small/pleiades.png" width="320" height="200" alt="すばる"></p>
<p>表示と能力：<a href="/catalogue/m45.html" title="ソースの表">すばるの項</a>・<a href="/about/visit.html#road">道案内</a>・<a href="` + "暦.html" + `">暦について</a></p>
</main></body></html>
`
	calendar := `<!DOCTYPE html>
<html lang="ja"><head><meta charset="Shift_JIS"><title>暦</title><link rel="stylesheet" href="/assets/style.css"></head>
<body><main><h1>暦</h1><p><a href="/almanac/">暦の頁</a>は英語です。<a href="./">戻る</a></p></main></body></html>
`
	telegram := "<!DOCTYPE html>\r\n<html lang=\"en\"><head><title>Telegram of 1886</title><link " +
		"rel=\"stylesheet\" href=\"/assets/style.css\"></head>\r\n<body><main><h1>Telegram, 3 May 1886</h1>\r\n" +
		"<pre>COMET SEEN STOP 4° ABOVE SEA STOP SEND COCOA — TREWIN ☄ 𝄞</pre>\r\n<p><a href=\"/archive/\">Old " +
		"papers</a> · <a href='logbook.html'>Logbook</a></p></main></body></html>\r\n"
	logbook := "<html><head><title>Logbook, 1874 to 1875</title></head><body " +
		"background=\"/card/body-background.png\">\n<h1>Logbook</h1>\n<p>12 November 1874. Température 3°. " +
		"Clear, cold. § Venus très claire à l’aube, «comme une lampe». £2 for oil.\n" +
		"<p><a href=/about/history.html>History</a> <a href=/archive/>Old papers</a>\n</body></html>\n"
	return map[string]*file{
		"/ja/": {mime: "text/html", body: encode(japanese.ShiftJIS.NewEncoder().String(ja))},
		"/ja/暦.html": {
			mime: "text/html",
			body: encode(japanese.ShiftJIS.NewEncoder().String(calendar)),
		},
		"/archive/telegram.html": {mime: "text/html", body: utf16LE(telegram)},
		// Only the header names the charset: the copy has to declare it.
		"/archive/logbook.html": {
			mime: "text/html; charset=windows-1252",
			body: encode(charmap.Windows1252.NewEncoder().String(logbook)),
		},
		"/archive/letter.html": b.page("A letter", "Sent on to the logbook.",
			`<h1>A letter</h1><p>It has been moved into <a href="logbook.html">the logbook</a>.</p>`,
			`<meta http-equiv="refresh" content="5; url='/archive/logbook.html'">`),
		"/archive/": b.page("Old papers", "Papers from the first years.",
			`<h1>Old papers</h1><ul><li><a href="logbook.html">The logbook of 1874</a></li><li><a href="telegram.html">A telegram</a></li><li><a href="letter.html">A letter</a></li><li><a href="scan%20of%20page%201.txt">A page, typed out</a></li></ul>`),
		"/archive/scan of page 1.txt": {
			mime: "text/plain; charset=utf-8",
			body: []byte("Clear. Cold. Worth it.\n"),
		},
	}
}

func encode(s string, err error) []byte {
	if err != nil {
		panic(fmt.Sprintf("demosite: encode page: %v", err)) // our own text
	}
	return []byte(s)
}

func utf16LE(s string) []byte {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}
