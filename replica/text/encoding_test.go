// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"

	"mirrord/relocate"
	"mirrord/site"
	"mirrord/testing/replicatest"
)

const (
	french = "Élève, où étés et crèmes brûlées coûtent à l'hôtel : çà et là, naïf, il préfère goûter un " +
		"gâteau près du château. "
	russian  = "Съешь же ещё этих мягких французских булок, да выпей чаю в чаще юга. "
	japanese = "日本語のページは単語の間に空白がない。東京都の図書館で古い本を読みます。カタカナもある。 "
	chinese  = "中文网页的词之间没有空白。图书馆里有很多旧书，人们每天都来阅读。 "
	taiwan   = "中文網頁的詞之間沒有空白。圖書館裡有很多舊書，人們每天都來閱讀。 "
	korean   = "한국어 페이지는 낱말 사이에 빈칸이 있다. 도서관에는 오래된 책이 많다. "
)

// A page has one digest, however it is written down.
func TestEncodings(t *testing.T) {
	s := NewSketcher(SketchOptions{})
	for _, tc := range []struct{ name, text, declared string }{
		{"iso-8859-1", french, "iso-8859-1"},
		{"windows-1252", french + "Le cœur de sa sœur, Œuvres, naïveté à 5 € — ƒ Šibenik Žižka, Ÿ. ",
			"Windows-1252"}, {"windows-1252", french, "cp1252"}, {"iso-8859-15", french, "ISO-8859-15"},
		{"windows-1251", russian, "cp1251"}, {"koi8-r", russian, "KOI8-R"}, {"iso-8859-5", russian, "iso-8859-5"},
		{"shift_jis", japanese, "Shift_JIS"}, {"euc-jp", japanese, "x-euc-jp"},
		{"iso-2022-jp", japanese, "ISO-2022-JP"},
		{"gbk", chinese, "gb2312"}, {"gb18030", chinese, "GB18030"}, {"big5", taiwan, "big5"},
		{"euc-kr", korean, "ks_c_5601-1987"},
	} {
		text := strings.Repeat(tc.text, 5)
		want := s.HTML([]byte("<p>" + text))
		if want.Words < 50 {
			t.Fatalf("%s: %d words", tc.name, want.Words)
		}
		e, err := htmlindex.Get(tc.name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := e.NewEncoder().Bytes([]byte("<p>" + text))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		for how, got := range map[string]ContentDigest{
			"meta": s.HTML(append([]byte("<meta charset='"+tc.declared+"'>"), body...)),
			"http-equiv": s.HTML(
				append([]byte("<META HTTP-EQUIV=content-type CONTENT='text/html; charset="+tc.declared+"'>"), body...)),
			"header":      s.make(body, tc.declared, true),
			"XML":         s.HTML(append([]byte(`<?xml version="1.0" encoding="`+tc.declared+`"?>`), body...)),
			"header, not": s.make(append([]byte("<meta charset=utf-7>"), body...), tc.declared, true),
		} {
			if got != want {
				t.Errorf("%s by %s: %d words, want %d", tc.name, how, got.Words, want.Words)
			}
		}
		if e == charmap.Windows1252 {
			for how, got := range map[string]ContentDigest{
				"said to be Latin-1":      s.HTML(append([]byte("<meta charset=iso-8859-1>"), body...)),
				"Latin-1 by the header":   s.make(body, "ISO-8859-1", true),
				"with nothing said of it": s.HTML(body),
			} {
				if got != want {
					t.Errorf("%s %s: %d words, want %d", tc.name, how, got.Words, want.Words)
				}
			}
		}
		if plain := s.Plain([]byte(text)); plain.Text != want.Text {
			t.Errorf("%s: plain text is another", tc.name)
		}
		for how, order := range map[string]binary.AppendByteOrder{
			"little": binary.LittleEndian,
			"big":    binary.BigEndian,
		} {
			for _, mark := range []bool{true, false} {
				if got := s.HTML(replicatest.ToUTF16(order, mark)([]byte("<html><body><p>" + text))); got != want {
					t.Errorf("UTF-16, the %s end first, mark %v: %d words, want %d", how, mark, got.Words, want.Words)
				}
				label := map[string]string{"little": "UTF-16LE", "big": "utf-16be"}[how]
				if got := s.make(replicatest.ToUTF16(order, mark)([]byte("<p>"+text)), label, true); got != want {
					t.Errorf("%s by the header, mark %v: %d words, want %d", label, mark, got.Words, want.Words)
				}
				if got := s.make([]byte("<p>"+text), label, true); got != want {
					t.Errorf("UTF-8, %s by the header: %d words, want %d", label, got.Words, want.Words)
				}
			}
		}
	}
}

// What a page is published as has the digest of what came with the header.
func TestEncodingOfPublishedPages(t *testing.T) {
	s := NewSketcher(SketchOptions{})
	u, _, err := site.Parse("http://a.test/x.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ text, charset string }{
		{french + "Œuvres, cœur. ", "windows-1252"}, {french, "iso-8859-15"}, {russian, "windows-1251"},
		{russian, "koi8-r"}, {japanese, "shift_jis"}, {japanese, "iso-2022-jp"},
		{chinese, "gbk"}, {taiwan, "big5"}, {korean, "euc-kr"}, {russian, "utf-8"}, {french, "utf-8"},
		{russian, "utf-16le"}, {korean, "utf-16be"},
	} {
		e, err := htmlindex.Get(tc.charset)
		if err != nil {
			t.Fatal(err)
		}
		for _, head := range []string{
			"<p>", "<!DOCTYPE html><html><head><title>x</title><body>",
			"<?xml version='1.0' encoding='iso-8859-2'?>\n<html><head><meta charset=koi8-u></head><p>",
			"<!-- <meta charset=koi8-u> --><head><p>",
			"<html><head><meta name=description content='charset=big5'><meta http-equiv=Content-Type " +
				"content='text/html; charset=euc-jp'><p>",
		} {
			body, err := e.NewEncoder().Bytes([]byte(head + strings.Repeat(tc.text, 4)))
			if err != nil {
				t.Fatal(err)
			}
			labels := []string{tc.charset, strings.ToUpper(tc.charset)}
			if tc.charset == "windows-1252" {
				labels = append(labels, "iso-8859-1", "latin1")
			}
			for _, label := range labels {
				var d relocate.Doc
				if err := d.Scan(body, relocate.Input{URL: u, HeaderCharset: label, Format: relocate.HTML}); err != nil {
					t.Fatal(err)
				}
				out := d.Splice(nil, body, func(int) ([]byte, bool, bool) {
					return nil, false, false
				})
				if got, want := s.HTML(out), s.make(body, label, true); got != want {
					t.Errorf("%s of %q: %d words, want %d: %.120q", label, head, got.Words, want.Words, out)
				}
			}
		}
	}
}

// Pages that say what they are not, or hold what they should not.
func TestWrongEncodings(t *testing.T) {
	s := NewSketcher(SketchOptions{})
	latin1 := func(text string) string {
		var b []byte
		for _, r := range text {
			b = append(b, byte(r))
		}
		return string(b)
	}
	text := strings.Repeat(french, 4)
	want := s.HTML([]byte(text))
	for name, body := range map[string]string{
		"Latin-1 that says UTF-8":    "<meta charset=utf-8>" + latin1(text),
		"Latin-1 that says nothing":  latin1(text),
		"Latin-1 that says nonsense": "<meta charset=klingon>" + latin1(text),
		"Latin-1 that says UTF-16":   "<meta charset=utf-16>" + latin1(text),
		"UTF-8 that says UTF-16":     "<meta charset=utf-16le>" + text,
		"UTF-8 that says ASCII":      "<meta charset=us-ascii>" + text,
		"UTF-8 with an XML declaration of another": "<?xml version='1.0' encoding='koi8-r'?><meta charset=utf-8>" +
			text,
		"UTF-8 with another in a comment": "<!-- <meta charset=koi8-r> --><meta charset=utf-8>" + text,
		"UTF-8 that tells of another": "<meta name=description content='what charset=koi8-r " +
			"means'><meta charset=utf-8>" + text,
		"UTF-8 with another element":        "<metadata charset=koi8-r><meta/charset='utf-8'>" + text,
		"UTF-8 with an error":               "<p>" + text + "\xff",
		"UTF-8, cut off":                    text + "\xe2\x82",
		"UTF-8 with an error in a tag":      "<p title='\xe9'>" + text,
		"Latin-1 with UTF-8 in a tag":       "<p title='é'>" + latin1(text),
		"UTF-8 with a mark, says Latin-1":   "\xef\xbb\xbf<meta charset=iso-8859-1>" + text,
		"UTF-8 with zeros behind its start": "<!--" + strings.Repeat(" ", 1024) + "\x00-->" + text,
	} {
		if got := s.HTML([]byte(body)); got.Text != want.Text {
			t.Errorf("%s: %d words, want %d: %.80q", name, got.Words, want.Words, Extract([]byte(body)))
		}
	}
	for name, body := range map[string]string{
		"PNG":                "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x00",
		"icon":               "\x00\x00\x01\x00\x01\x00\x10\x10\x00\x00\x01\x00\x20\x00\x68\x04",
		"zip":                "PK\x03\x04\x14\x00\x00\x00\x08\x00abcdefgh",
		"ELF":                "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"words of two bytes": "a\x00b\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x00",
	} {
		if got := s.HTML([]byte(body)); got.Words != 0 || IsText([]byte(body)) {
			t.Errorf("%s: %d words", name, got.Words)
		}
	}
}

// Scripts without blanks between words, and such whose letters have marks, have shingles as well: a page of
// which a sentence was changed is near to what it was, and far from another one.
func TestScripts(t *testing.T) {
	s := NewSketcher(SketchOptions{})
	for name, sentences := range map[string][]string{
		"Thai": {"ภาษาไทยไม่มีช่องว่างระหว่างคำ", "ห้องสมุดมีหนังสือเก่ามากมาย", "ผู้คนมาอ่านหนังสือทุกวัน",
			"วันนี้อากาศดีมาก", "เราจะไปตลาดด้วยกัน", "แมวนอนอยู่บนเก้าอี้", "ฉันชอบกินข้าวผัด", "รถไฟมาถึงตรงเวลา"},
		"Khmer": {"ភាសាខ្មែរមិនមានដកឃ្លា", "បណ្ណាល័យមានសៀវភៅចាស់ៗជាច្រើន", "មនុស្សមកអានសៀវភៅរាល់ថ្ងៃ",
			"ថ្ងៃនេះអាកាសធាតុល្អណាស់", "យើងនឹងទៅផ្សារជាមួយគ្នា", "ឆ្មាដេកលើកៅអី"},
		"Hindi": {"हिन्दी में शब्दों के बीच में खाली जगह होती है", "पुस्तकालय में बहुत सी पुरानी किताबें हैं",
			"लोग हर दिन पढ़ने आते हैं", "आज मौसम बहुत अच्छा है", "हम साथ में बाज़ार जाएँगे",
			"बिल्ली कुर्सी पर सो रही है"},
		"Arabic": {"اللغة العربية تكتب من اليمين إلى اليسار", "في المكتبة كتب قديمة كثيرة جدا",
			"يأتي الناس كل يوم للقراءة هنا", "الطقس جميل جدا في هذا اليوم", "سنذهب معا إلى السوق غدا صباحا",
			"القطة نائمة على الكرسي القديم"},
		"Hebrew": {"בשפה העברית כותבים מימין לשמאל", "בספריה יש הרבה מאוד ספרים ישנים",
			"אנשים באים לקרוא כאן בכל יום", "מזג האוויר יפה מאוד היום", "נלך ביחד אל השוק מחר בבוקר",
			"החתול ישן על הכיסא הישן"},
		"Han": {"中文网页的词之间没有空白", "图书馆里有很多旧书", "人们每天都来阅读", "今天天气非常好", "我们一起去市场", "猫睡在椅子上"},
		"kana": {"ことばのあいだにくうはくがない", "としょかんにはふるいほんがたくさんある", "ひとびとはまいにちよみにくる", "きょうはてんきがとてもよい", "いっしょにいちばへいきましょう",
			"ねこはいすのうえでねている"},
		"marks": {"cafe\u0301 cre\u0300me bru\u0302le\u0301e a\u0300 l'ho\u0302tel",
			"il e\u0301tait une fois un cha\u0302teau", "nai\u0308f et gene\u0301reux, il gou\u0302tait",
			"ou\u0300 e\u0301tait le ga\u0302teau", "la fore\u0302t s'e\u0301tend tre\u0300s loin",
			"de\u0301ja\u0300 vu"},
	} {
		var page []string
		for i := range 30 { // each sentence twice, with a number
			page = append(page, sentences[i%(len(sentences)/2)]+" "+strings.Repeat("x", i%7+1))
		}
		a := s.HTML([]byte(strings.Join(page, " ")))
		changed := strings.Join(page[:29], " ") + " " + sentences[len(sentences)-1]
		b := s.HTML([]byte(changed))
		other := s.HTML([]byte(strings.Join(sentences[len(sentences)/2:], " ")))
		if a.Words < 60 {
			t.Errorf("%s: only %d words", name, a.Words)
		}
		if r := a.Sketch.Resemblance(&b.Sketch); r < 0.7 || a.Text == b.Text {
			t.Errorf("%s: resemblance with a sentence changed %.2f", name, r)
		}
		if r := a.Sketch.Resemblance(&other.Sketch); r > 0.1 {
			t.Errorf("%s: resemblance with another page %.2f", name, r)
		}
	}
}
