// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/fetch/heads"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// headText makes the head of a page as one kind of server sends it.
type headText func(rng *rand.Rand, page int, when time.Time) string

const imf = "Mon, 02 Jan 2006 15:04:05 GMT"

func hexOf(rng *rand.Rand, digits int) string {
	return fmt.Sprintf("%032x%016x", rng.Uint64(), rng.Uint64())[48-digits:]
}

func base64Of(rng *rand.Rand, chars int) string {
	b := make([]byte, chars)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[rng.IntN(64)]
	}
	return string(b)
}

// Heads as they were recorded: nginx 1.22 and Apache 2.4 of Debian with static files, and three in the shape
// of content networks. page decides the fields of the page, rng and when those of the exchange. random is
// how many bytes of each head are random by nature: request ids, and entity tags that are hashes (16 bytes
// of each of the last two).
var headKinds = []struct {
	name   string
	random int
	text   headText
}{
	{"nginx", 0, func(_ *rand.Rand, page int, when time.Time) string {
		size, changed := 2000+page*7919%90000,
			when.Truncate(365*24*time.Hour).Add(-time.Duration(page*page%70000)*time.Minute)
		return fmt.Sprintf(
			"HTTP/1.1 200 OK\nServer: nginx/1.22.1\nDate: %s\nContent-Type: %s\nContent-Length: %d\nLast-Modified: "+
				"%s\nConnection: keep-alive\nETag: \"%x-%x\"\nAccept-Ranges: bytes\n",
			when.Format(imf), []string{"text/html", "text/html", "image/png", "text/css"}[page%4], size,
			changed.Format(imf), changed.Unix(), size)
	}},
	{"Apache", 0, func(_ *rand.Rand, page int, when time.Time) string {
		size, changed := 2000+page*7919%90000,
			when.Truncate(365*24*time.Hour).Add(-time.Duration(page*page%70000)*time.Minute)
		return fmt.Sprintf(
			"HTTP/1.1 200 OK\nDate: %s\nServer: Apache/2.4.71 (Debian)\nLast-Modified: %s\nETag: "+
				"\"%x-%x-gzip\"\nAccept-Ranges: bytes\nVary: Accept-Encoding\nContent-Encoding: gzip\nContent-Length: "+
				"%d\nKeep-Alive: timeout=5, max=%d\nConnection: Keep-Alive\nContent-Type: text/html\n",
			when.Format(imf), changed.Format(imf), size, changed.UnixMicro()+int64(page*977%1000000), size/4,
			100-page%100)
	}},
	{"content network with cf-ray", 8 + 103, func(rng *rand.Rand, page int, when time.Time) string {
		return fmt.Sprintf(
			"HTTP/2.0 200 OK\nage: %d\ncache-control: public, max-age=14400\ncf-cache-status: %s\ncf-ray: "+
				"%s-FRA\ncontent-encoding: br\ncontent-type: text/html; charset=utf-8\ndate: %s\nexpires: "+
				"%s\nlast-modified: %s\nnel: "+
				"{\"success_fraction\":0,\"report_to\":\"cf-nel\",\"max_age\":604800}\nreport-to: "+
				"{\"endpoints\":[{\"url\":\"https:\\/\\/a.nel.cloudflare.com\\/report\\/v4?s=%s\"}],"+
				"\"group\":\"cf-nel\",\"max_age\":604800}\n"+
				"server: cloudflare\nstrict-transport-security: max-age=15552000; includeSubDomains; preload\n"+
				"vary: Accept-Encoding\nx-content-type-options: nosniff\nalt-svc: h3=\":443\"; ma=86400\n",
			rng.IntN(14400), []string{"HIT", "MISS", "REVALIDATED"}[rng.IntN(3)], hexOf(rng, 16), when.Format(imf),
			when.Add(4*time.Hour).Format(imf),
			when.Truncate(365*24*time.Hour).Add(-time.Duration(page*page%70000)*time.Minute).Format(imf),
			base64Of(rng, 137))
	}},
	{"content network with x-served-by", 6 + 16, func(rng *rand.Rand, page int, when time.Time) string {
		return fmt.Sprintf(
			"HTTP/2.0 200 OK\naccept-ranges: bytes\nage: %d\ncache-control: max-age=600\ncontent-length: "+
				"%d\ncontent-type: text/html; charset=utf-8\ndate: %s\netag: \"%032x\"\nlast-modified: %s\nserver: "+
				"GitHub.com\nvary: Accept-Encoding\nvia: 1.1 varnish, 1.1 varnish\nx-cache: HIT, %s\nx-cache-hits: "+
				"%d, %d\nx-fastly-request-id: deadbeef\nx-served-by: cache-iad-kiad70%05d-IAD, "+
				"cache-fra-etou82%05d-FRA\nx-timer: S%d.%06d,VS0,VE%d\n",
			rng.IntN(600), 2000+page*7919%90000, when.Format(imf), uint64(page)*0x9e3779b97f4a7c15,
			when.Truncate(365*24*time.Hour).Add(-time.Duration(page*page%70000)*time.Minute).Format(imf),
			[]string{"HIT", "MISS"}[rng.IntN(2)], rng.IntN(30), rng.IntN(9), rng.IntN(300), rng.IntN(300), when.Unix(),
			rng.IntN(1000000), rng.IntN(100))
	}},
	{"content network with x-amz-cf-id", 41 + 16, func(rng *rand.Rand, page int, when time.Time) string {
		edge := uint64(rng.IntN(12) + 7)
		return fmt.Sprintf(
			"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: %d\nConnection: keep-alive\nDate: "+
				"%s\nLast-Modified: %s\nETag: \"%016x%016x\"\nx-amz-server-side-encryption: AES256\nAccept-Ranges: "+
				"bytes\nServer: AmazonS3\nVary: Accept-Encoding\nX-Cache: %s from cloudfront\nVia: 1.1 "+
				"%016x%016x.cloudfront.net (CloudFront)\nX-Amz-Cf-Pop: FRA%d-P%d\nX-Amz-Cf-Id: %s==\nAge: %d\n",
			2000+page*7919%90000, when.Format(imf),
			when.Truncate(365*24*time.Hour).Add(-time.Duration(page*page%70000)*time.Minute).Format(imf),
			uint64(page)*0x9e3779b97f4a7c15, uint64(page)*0xbf58476d1ce4e5b9,
			[]string{"Hit", "Miss"}[rng.IntN(2)], edge*0x9e3779b97f4a7c15, edge*0xbf58476d1ce4e5b9, rng.IntN(60),
			rng.IntN(9), base64Of(rng, 54), rng.IntN(90000))
	}},
}

func headOf(t testing.TB, text string) *heads.Head {
	t.Helper()
	h, err := heads.Parse([]byte(text + "\n"))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return h
}

// answered is a page that came at a run, with its head. Nothing of it is looked at but its record.
func answered(id, run int, h *heads.Head) *record.Done {
	d := documentRecord(id, fmt.Sprint(id, " of run ", run), nil)
	d.Body, d.InSet, d.Run, d.Checked, d.Fetched, d.Answer = record.PackBody, true, run, int64(1000*run),
		int64(1000*run), h
	return d
}

// headBytes is what the heads of all URLs cost: the files, and what records are longer by.
func headBytes(t testing.TB, s *Site) (n int64) {
	t.Helper()
	nums, err := disk.NumbersIn(s.Root, ".", bodies.HeadsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, num := range nums {
		fi, err := s.Root.Stat(bodies.HeadsFile(num))
		if err != nil {
			t.Fatal(err)
		}
		n += fi.Size()
	}
	for _, r := range resources(t, s) {
		with := len(r.Append(nil))
		r.Head, r.LastHead = record.HeadPlace{}, record.HeadPlace{}
		n += int64(with - len(r.Append(nil)))
	}
	return n
}

// openHeads opens a site whose records are not looked at closely: their documents are made up.
func openHeads(t testing.TB, dir string) (*State, *Site) {
	t.Helper()
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.DB != nil {
			s.Close()
		}
		st.Close()
	})
	return st, s
}

func known(t testing.TB, s *Site) uint32 {
	t.Helper()
	n, err := s.Records.Known()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const plainHead = "HTTP/1.1 200 OK\nServer: s\nDate: Fri, 20 Nov 2026 18:11:13 GMT\nContent-Type: " +
	"text/html\nCache-Control: max-age=60\n"

// headsOf returns the heads that the record of a page refers to, nil for none.
func headsOf(t testing.TB, s *Site, id int) (head, last *heads.Head) {
	t.Helper()
	r, ok, err := s.Records.Get(testURL(id))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	read := func(at record.HeadPlace) (h *heads.Head) {
		if !at.IsZero() {
			if h, err = s.Records.ReadHead(r.URL, at); err != nil {
				t.Fatal(err)
			}
		}
		return h
	}
	return read(r.Head), read(r.LastHead)
}

// Which head a record has after each kind of answer.
func TestHeadsFollowTheAnswers(t *testing.T) {
	_, s := openHeads(t, t.TempDir())
	rec := answered(0, 1, headOf(t, plainHead)).Resource
	run := 0
	step := func(name string, outcome site.Outcome, text, wantHead, wantLast string,
		change func(r *record.Resource)) {
		t.Helper()
		run++
		r := rec
		r.Outcome, r.Run, r.Checked, r.Answer = outcome, run, int64(1000*run), nil
		if text != "" {
			r.Answer = headOf(t, text)
		}
		if outcome == site.Fetched {
			r.Fetched = r.Checked
		}
		if change != nil {
			change(&r)
		}
		rec = r
		commit(t, s, 0, newURLs(0, 1), &record.Done{Resource: r})
		foldAll(t, s, run)
		head, last := headsOf(t, s, 0)
		for _, c := range []struct {
			what, want string
			got        *heads.Head
		}{{"head", wantHead, head}, {"last head", wantLast, last}} {
			if got := fmt.Sprint(c.got); (c.want == "" && c.got != nil) ||
				(c.want != "" && (c.got == nil || got != c.want)) {
				t.Errorf("%s: the %s is\n%s, want\n%s", name, c.what, got, c.want)
			}
		}
	}
	later, fail := strings.Replace(plainHead, "Fri, 20", "Sat, 21", 1),
		"HTTP/1.1 500 Internal Server Error\nServer: s\n"
	step("a failure before anything came", site.Failed, fail, "", fail, func(r *record.Resource) {
		r.InSet, r.Body = false, record.NoBody
	})
	step("a body", site.Fetched, plainHead, plainHead, "", func(r *record.Resource) {
		r.InSet, r.Body = true, record.PackBody
	})
	step("304 with other dates", site.Unchanged,
		"HTTP/1.1 304 Not Modified\nDate: Sun, 22 Nov 2026 18:11:13 GMT\nX-Request-Id: 5\n", plainHead, "", nil)
	step("the same body with other dates", site.Unchanged, later, plainHead, "", nil)
	step("a failure", site.Failed, fail, plainHead, fail, nil)
	step("a failure without an answer", site.Failed, "", plainHead, "", nil)
	fresh := strings.Replace(plainHead, "=60", "=70", 1)
	step("304 with another field", site.Unchanged, "HTTP/1.1 304 Not Modified\nCache-Control: max-age=70\n",
		fresh, "", nil)
	step("the same body and a field less", site.Unchanged, strings.Replace(plainHead, "Server: s\n", "", 1),
		strings.Replace(plainHead, "Server: s\n", "", 1), "", nil)
	step("another body", site.Fetched, later, later, "", nil)
	move := "HTTP/1.1 301 Moved Permanently\nLocation: /x\n"
	step("a redirect", site.Redirected, move, later, move, func(r *record.Resource) { r.InSet = false })
	step("the same redirect, later", site.Redirected, move+"Date: Sun, 22 Nov 2026 18:11:13 GMT\n",
		later, move, nil)
	step("gone", site.Gone, "HTTP/1.1 410 Gone\nServer: t\n", later, "HTTP/1.1 410 Gone\nServer: t\n", nil)
	step("a body from elsewhere", site.Fetched, "", "", "", func(r *record.Resource) { r.InSet = true })
	step("304 where no head is", site.Unchanged, "HTTP/1.1 304 Not Modified\nServer: t\n", "", "", nil)
	step("again a body", site.Fetched, later, later, "", nil)
	step("forbidden", site.Disallowed, plainHead, "", "", func(r *record.Resource) {
		r.InSet, r.Body = false, record.NoBody
	})
}

// An answer that says what the last one said costs nothing in the journal and nothing when it is folded, and
// changes nothing; one that says something else changes the head as ever.
func TestAnswerThatSaysTheSameIsNotJournaled(t *testing.T) {
	_, s := openHeads(t, t.TempDir())
	run, last := 1, plainHead
	commit(t, s, 0, newURLs(0, 1), answered(0, 1, headOf(t, plainHead)))
	foldAll(t, s, 1)
	step := func(name, text string, journaled bool, want string) {
		t.Helper()
		run++
		r, _, err := s.Records.Get(testURL(0))
		if err != nil {
			t.Fatal(err)
		}
		r.Outcome, r.Run, r.Checked, r.Answer = site.Unchanged, run, int64(1000*run), headOf(t, text)
		_, before := s.Heads.Packs.Where()
		commit(t, s, 1, nil, &record.Done{Resource: r})
		err = s.Batches(func(_ uint64, b *record.LogBatch) error {
			if (len(b.Heads) > 0) != journaled {
				t.Errorf("%s: %d bytes of heads in the journal", name, len(b.Heads))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		foldAll(t, s, run)
		if h, _ := headsOf(t, s, 0); h == nil || h.String() != want {
			t.Errorf("%s: the head is %v", name, h)
		}
		if _, now := s.Heads.Packs.Where(); (now > before) != (want != last) {
			t.Errorf("%s: the heads grew: %v", name, now > before)
		}
		last = want
	}
	const not = "HTTP/1.1 304 Not Modified\nServer: s\nDate: Sun, 22 Nov 2026 18:11:13 GMT\n"
	fresh, other := "Cache-Control: max-age=70\n",
		strings.NewReplacer("=60", "=70", "Fri, 20", "Sun, 22").Replace(plainHead)
	step("the first 304", not, true, plainHead)
	step("the same one", not, false, plainHead)
	step("another date", strings.Replace(not, "Sun, 22", "Mon, 23", 1)+"X-Request-Id: 1\n", false, plainHead)
	step("a new value", not+fresh, true, other)
	step("it again", not+fresh, false, other)
	step("the one before", not, true, other)
	step("the body again", other, true, other)
	step("the body once more", strings.Replace(other, "Sun, 22", "Sat, 21", 1), false, other)
	step("the body with a field less", strings.Replace(other, "Server: s\n", "", 1), true,
		strings.Replace(other, "Server: s\n", "", 1))
	r, _, err := s.Records.Get(testURL(0))
	if err != nil || r.HeadSum == 0 {
		t.Fatal(r.HeadSum, err)
	}
	d := answered(0, run+1, nil) // another body, from elsewhere
	commit(t, s, 1, nil, d)
	foldAll(t, s, run+1)
	if r, _, err = s.Records.Get(testURL(0)); err != nil || r.HeadSum != 0 || !r.Head.IsZero() {
		t.Errorf("after another body the sum is %x, the head %v, %v", r.HeadSum, r.Head, err)
	}
}

// Changes of a record after its response, as at the end of a run, keep its heads.
func TestAmendedRecordKeepsItsHeads(t *testing.T) {
	_, s := openHeads(t, t.TempDir())
	failed := answered(1, 1, headOf(t, "HTTP/1.1 500 Internal Server Error\nServer: s\n"))
	failed.Outcome = site.Failed
	commit(t, s, 0, newURLs(0, 2), answered(0, 1, headOf(t, plainHead)), failed)
	foldAll(t, s, 1)
	for id := range 2 {
		r, _, err := s.Records.Get(testURL(id))
		if err != nil {
			t.Fatal(err)
		}
		// the places of a record in the journal are not believed
		r.ETag, r.Head, r.LastHead = "", record.HeadPlace{File: 9, Off: 9}, record.HeadPlace{File: 9, Off: 10}
		commit(t, s, 2, nil, &record.Done{Resource: r})
	}
	foldAll(t, s, 1)
	if h, _ := headsOf(t, s, 0); h == nil || h.String() != plainHead {
		t.Errorf("got %v", h)
	}
	if _, h := headsOf(t, s, 1); h == nil || h.Code() != 500 {
		t.Errorf("got %v", h)
	}
}

// A version that is gone back to has the heads that it had.
func TestRestoredVersionHasItsHeads(t *testing.T) {
	_, s := openHeads(t, t.TempDir())
	commit(t, s, 0, newURLs(0, 1), answered(0, 1, headOf(t, plainHead)))
	foldAll(t, s, 1)
	commit(t, s, 1, nil, answered(0, 2, headOf(t, strings.Replace(plainHead, "s\n", "other\n", 1))))
	foldAll(t, s, 2)
	if err := s.Versions.Restore(1, 3); err != nil {
		t.Fatal(err)
	}
	if h, _ := headsOf(t, s, 0); h == nil || h.String() != plainHead {
		t.Errorf("got %v", h)
	}
}

// A kill at any time costs no head of a batch that was committed, and mixes none up.
func TestKillKeepsHeads(t *testing.T) {
	t.Run("one chunk", func(t *testing.T) { killKeepsHeads(t, 12, 32) })
	t.Run("chunks", func(t *testing.T) { killKeepsHeads(t, 30, 1) })
}

func killKeepsHeads(t *testing.T, pages, parts int) {
	dir := t.TempDir()
	st, s := openHeads(t, dir)
	s.Records.FoldItems, s.Records.FoldParts = 1, parts
	text := func(id, run int) string {
		return strings.Replace(plainHead, "max-age=60", fmt.Sprintf("max-age=%d, x=%d", id, run), 1)
	}
	var copies []string
	s.Step = func(step string) {
		if step == "folded a part" {
			copies = append(copies, copyState(t, dir))
		}
	}
	for run := 1; run <= 3; run++ {
		for id := range pages {
			if run > 1 && id%run != 0 {
				continue
			}
			var news []record.NewURL
			if run == 1 {
				news = newURLs(id, id+1)
			}
			commit(t, s, min(uint32(id), known(t, s)), news, answered(id, run, headOf(t, text(id, run))))
		}
		copies = append(copies, copyState(t, dir))
		foldAll(t, s, run)
	}
	s.Close()
	st.Close()
	if len(copies) < 9 {
		t.Fatalf("only %d places to be killed at", len(copies))
	}
	for n, dir := range copies {
		if n%3 > 0 { // heads that were not committed are there, or something else
			name := filepath.Join(dir, "sites/x", bodies.HeadsFile(1))
			more := random(100, byte(n))
			if whole, err := os.ReadFile(name); err == nil && n%3 == 1 {
				more = whole
			}
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			f.Write(more)
			f.Close()
		}
		st, s := openHeads(t, dir)
		s.Records.FoldItems, s.Records.FoldParts = 1, parts
		foldAll(t, s, 3)
		for u, r := range resources(t, s) {
			if r.Outcome == site.Pending {
				continue
			}
			h, err := s.Records.ReadHead(r.URL, r.Head)
			if err != nil {
				t.Fatalf("copy %d: %s: %v", n, u, err)
			}
			if want := text(int(r.ID), r.Run); h.String() != want {
				t.Errorf("copy %d: %s has\n%s, want\n%s", n, u, h, want)
			}
		}
		s.Close()
		st.Close()
	}
}

func openHeadsVolatile(t testing.TB, dir string) (*State, *Site) {
	t.Helper()
	st, err := OpenState(dir, Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.readSite("x")
	if err != nil {
		t.Fatal(err)
	}
	return st, s
}

// A site that lives as long as its run keeps no heads.
func TestVolatileSiteKeepsNoHeads(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	d := document(t, s, 0, "body")
	d.Answer = headOf(t, plainHead)
	commit(t, s, 0, newURLs(0, 1), d)
	foldAll(t, s, 1)
	nums, err := disk.NumbersIn(s.Root, ".", bodies.HeadsFile)
	if h, _ := headsOf(t, s, 0); h != nil || len(nums) > 0 || err != nil {
		t.Errorf("%v, files %v, %v", h, nums, err)
	}
}
