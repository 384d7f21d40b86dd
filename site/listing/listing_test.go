// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func at(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestParseSize(t *testing.T) {
	const k, m, g = 1 << 10, 1 << 20, 1 << 30
	for _, c := range []struct {
		s             string
		min, max, mid int64
	}{
		{"0", 0, 0, 0}, {"999", 999, 999, 999},
		{"9223372036854775", 9223372036854775, 9223372036854775, 9223372036854775}, {"999 B", 999, 999, 999},
		{"10K", 9 * k, 11 * k, 10 * k}, {"0K", 0, k, 0}, {"1M", 0, 2 * m, m}, {"5G", 4 * g, 6 * g, 5 * g},
		{"1.5K", 1433, 1639, 1536}, {"1.5k", 1433, 1639, 1536}, {"0.1K", 0, 205, 102},
		{"10.0 KiB", 10137, 10343, 10240},
		{"2.5 MB", 2400000, 2726298, 2621440}, {"1.1T", 1 << 40, (12<<40 + 9) / 10, (11 << 40) / 10},
	} {
		z, ok := parseSize(c.s)
		if !ok || z.min != c.min || z.max != c.max || z.value != c.mid || z.exact != (c.min == c.max) {
			t.Errorf("%q: %+v, %v; want %+v", c.s, z, ok, c)
		}
	}
	for _, s := range []string{
		"", "-", "K", ".5K", "1.K", "1..5K", "1.5", "1.5 B", "-1", "+1", "1e3", "1KK", "1 KiBs", "1X", "1_000",
		"1,5K", "99999999999999999999", "9999999999E", "0.00000000001K", "12 34", "१",
	} {
		if z, ok := parseSize(s); ok || z != unknownSize {
			t.Errorf("%q: %+v", s, z)
		}
	}
}

// aprSize and lighttpdSize round as the servers do (apr_strfsize; http_list_directory_sizefmt), nginxSize as
// autoindex does.
func aprSize(size int64) string {
	if size < 973 {
		return itoa(size)
	}
	for i := 0; ; i++ {
		remain := size & 1023
		size >>= 10
		if size >= 973 {
			continue
		}
		unit := "KMGTPE"[i : i+1]
		if size < 9 || (size == 9 && remain < 973) {
			if remain = (remain*5 + 256) / 512; remain >= 10 {
				size, remain = size+1, 0
			}
			return itoa(size) + "." + itoa(remain) + unit
		}
		if remain >= 512 {
			size++
		}
		return itoa(size) + unit
	}
}

func lighttpdSize(size int64) string {
	remain := size & 1023
	size >>= 10
	unit := 0
	for size > 0 && size > 1023 {
		remain = size & 1023
		size >>= 10
		unit++
	}
	if remain = remain * 100 / 1024; remain > 99 {
		remain = 99
	} else if remain < 10 && remain > 0 && size == 0 && unit == 0 {
		remain = 10
	}
	return itoa(size) + "." + itoa(remain/10) + "KMGTPE"[unit:unit+1]
}

func nginxSize(size int64) string {
	round := func(unit int64) string {
		n := size / unit
		if size%unit > unit/2-1 {
			n++
		}
		return itoa(n)
	}
	switch {
	case size > 1<<30-1:
		return round(1<<30) + "G"
	case size > 1<<20-1:
		return round(1<<20) + "M"
	case size > 9999:
		return round(1<<10) + "K"
	}
	return itoa(size)
}

func itoa(n int64) string { return string(appendInt(nil, n)) }

func appendInt(b []byte, n int64) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

// For any rounding of a server, the range contains the size.
func TestRoundedSizesHoldTheSize(t *testing.T) {
	var sizes []int64
	for n := int64(1); n < 1<<45; n += n/9 + 1 {
		sizes = append(sizes, n-1, n, n+1)
	}
	for shift := range 45 {
		for d := int64(-3); d <= 3; d++ {
			sizes = append(sizes, max(0, 1<<shift+d), 973<<shift>>10+max(0, d), 1023<<shift>>10+max(0, d),
				10<<shift-1<<shift/2+max(0, d))
		}
	}
	for _, n := range sizes {
		for server, s := range map[string]string{
			"apache":   aprSize(n),
			"lighttpd": lighttpdSize(n),
			"nginx":    nginxSize(n),
		} {
			if z, ok := parseSize(s); !ok || n < z.min || z.max < n {
				t.Fatalf("%s writes %d as %s: %+v, %v", server, n, s, z, ok)
			}
		}
	}
}

func TestParseStamp(t *testing.T) {
	for _, c := range []struct {
		s, want string
		p       Precision
		rest    string
	}{
		{"29-Feb-2024 13:05", "2024-02-29 13:05:00", ToMinute, ""},
		{"29-Feb-2024 13:05:07", "2024-02-29 13:05:07", ToSecond, ""},
		{"2024-Feb-29 13:05:07", "2024-02-29 13:05:07", ToSecond, ""},
		{"2024-02-29 13:05  1.5K", "2024-02-29 13:05:00", ToMinute, "  1.5K"},
		{"2024-02-29T13:05:07Z", "2024-02-29 13:05:07", ToSecond, ""},
		{"2024/02/29 13:05", "2024-02-29 13:05:00", ToMinute, ""},
		{"2024-02-29", "2024-02-29 00:00:00", ToDay, ""},
		{"2024-02-29  1.5K", "2024-02-29 00:00:00", ToDay, "  1.5K"},
		{"29 Feb 2024 13:05", "2024-02-29 13:05:00", ToMinute, ""},
		{"1-feb-2024 9:05", "2024-02-01 09:05:00", ToMinute, ""},
	} {
		st, rest, ok := parseStamp(c.s)
		if !ok || !st.t.Equal(at(c.want)) || st.precision != c.p || rest != c.rest ||
			st.local == strings.HasSuffix(c.s, "Z") {
			t.Errorf("%q: %v %d %v %q, %v", c.s, st.t, st.precision, st.local, rest, ok)
		}
	}
	for _, s := range []string{
		"", "-", "2024", "2024-02", "2024-02-30", "2023-02-29 13:05", "2024-13-01", "2024-00-01", "2024-01-00",
		"0000-01-01", "29-Feb-24 13:05", "02-03-2024 13:05", "2024-Feb_29", "29-Fex-2024", "2024-02-29 24:00",
		"2024-02-29 13:60", "2024-02-29 13:05:61", "12024-02-29", "2024-02-2912", "3 days ago", "2024 Feb 29",
		"999-01-01",
	} {
		if st, _, ok := parseStamp(s); ok {
			t.Errorf("%q: %v", s, st)
		}
	}
}

func TestIISDates(t *testing.T) {
	const unknown = ""
	for name, c := range map[string]struct{ dates, want []string }{
		"month first": {
			[]string{"6/12/2014  3:25 AM", "6/13/2014 12:25 PM", "1/2/2015 12:00 AM"},
			[]string{"2014-06-12 03:25:00", "2014-06-13 12:25:00", "2015-01-02 00:00:00"},
		},
		"day first": {
			[]string{"12/06/2014 15:25", "13/06/2014 00:25"}, []string{"2014-06-12 15:25:00", "2014-06-13 00:25:00"},
		},
		"dots": {[]string{"12.06.2014 15:25"}, []string{"2014-06-12 15:25:00"}},
		"year first": {
			[]string{"2014/6/12 15:25", "2014-06-12 15:25"}, []string{"2014-06-12 15:25:00", "2014-06-12 15:25:00"},
		},
		"cannot be told": {[]string{"6/12/2014  3:25 AM", "1/2/2015 12:00 AM"}, []string{unknown, unknown}},
		"contradiction": {
			[]string{"13/1/2014  3:25 AM", "1/13/2015 12:00 AM", "2015/1/13 12:00"},
			[]string{unknown, unknown, "2015-01-13 12:00:00"},
		},
		"long": {
			[]string{"Sunday, January 19, 2025  4:05 AM", "Sunday, 19 January 2025 16:05", "19 January 2025 16:05",
				"1/2/2015 1:00"}, []string{"2025-01-19 04:05:00", "2025-01-19 16:05:00", "2025-01-19 16:05:00", unknown},
		},
		"no date": {
			[]string{"", "x", "6/2014 3:25", "6/12/14 3:25", "6/12-2014 3:25", "31/31/2014 3:25", "13/1/2014 25:25",
				"13/1/2014 13:25 PM", "13/1/2014", "January 32, 2025 1:00", "Montag, 19. Januar 2025 4:05"},
			make([]string, 11),
		},
	} {
		entries := make([]Entry, len(c.dates))
		readDates(entries, c.dates)
		for i, e := range entries {
			if c.want[i] == unknown {
				if e.Precision != TimeUnknown || !e.Modified.IsZero() {
					t.Errorf("%s: %q read as %s", name, c.dates[i], e.Modified)
				}
			} else if !e.Modified.Equal(at(c.want[i])) || e.Precision != ToMinute || !e.Local {
				t.Errorf("%s: %q read as %s, want %s", name, c.dates[i], e.Modified, c.want[i])
			}
		}
	}
}

func TestSame(t *testing.T) {
	base := Entry{
		Name:      "a",
		Modified:  at("2024-02-29 13:05:00"),
		Precision: ToMinute,
		Local:     true,
		Size:      999,
		SizeMin:   999,
		SizeMax:   999,
		SizeExact: true,
	}
	with := func(change func(*Entry)) Entry { e := base; change(&e); return e }
	for name, c := range map[string]struct {
		e    Entry
		self bool // it is evidence
		same bool // that nothing changed since base
	}{
		"equal":     {base, true, true},
		"name":      {with(func(e *Entry) { e.Name = "b" }), true, false},
		"time":      {with(func(e *Entry) { e.Modified = e.Modified.Add(time.Minute) }), true, false},
		"precision": {with(func(e *Entry) { e.Precision = ToSecond }), true, false},
		"zone":      {with(func(e *Entry) { e.Local = false }), true, false},
		"size":      {with(func(e *Entry) { e.Size, e.SizeMin, e.SizeMax = 998, 998, 998 }), true, false},
		"rounded":   {with(func(e *Entry) { e.SizeMin, e.SizeMax, e.SizeExact = 900, 1100, false }), true, false},
		"size unknown": {with(func(e *Entry) {
			e.Size, e.SizeMin, e.SizeMax, e.SizeExact = -1, -1, -1, false
		}), true, false},
		"time unknown": {with(func(e *Entry) {
			e.Modified, e.Precision = time.Time{}, TimeUnknown
		}), false, false},
		"directory":       {with(func(e *Entry) { e.Dir = true }), false, false},
		"epoch":           {with(func(e *Entry) { e.Modified = at("1970-01-01 00:00:00") }), false, false},
		"placeholder":     {with(func(e *Entry) { e.Modified = at("1980-01-01 00:00:00") }), false, false},
		"other zone, URL": {with(func(e *Entry) { e.Modified = e.Modified.In(time.UTC) }), true, true},
	} {
		if (c.e.Evidence() != "") != c.self ||
			(c.e.Evidence() == base.Evidence() && c.e.Name == base.Name) != c.same {
			t.Errorf("%s: Evidence is %q", name, c.e.Evidence())
		}
	}
}

func TestSettled(t *testing.T) {
	now := at("2024-02-29 13:05:30")
	for _, c := range []struct {
		modified string
		p        Precision
		local    bool
		want     bool
	}{
		{"2024-02-29 13:05:29", ToSecond, false, false}, // our clock may be behind
		{"2024-02-29 13:03:00", ToSecond, false, true},
		{"2024-02-29 13:03:00", ToMinute, false, false},
		{"2024-02-29 13:02:00", ToMinute, false, true},
		{"2024-02-28 23:00:00", ToMinute, true, false}, // may be 13:00 of a zone far west
		{"2024-02-28 21:00:00", ToMinute, true, true},
		{"2024-02-28 00:00:00", ToDay, false, true},
		{"2024-02-28 00:00:00", ToDay, true, false},
		{"2024-02-27 00:00:00", ToDay, true, true},
		{"2030-01-01 00:00:00", ToSecond, false, false},
		{"2000-01-01 00:00:00", TimeUnknown, false, false},
	} {
		e := Entry{Modified: at(c.modified), Precision: c.p, Local: c.local}
		if e.Settled(now) != c.want {
			t.Errorf("%+v: Settled is %v", c, !c.want)
		}
	}
}

func TestAgrees(t *testing.T) {
	minute := Entry{
		Modified:  at("2024-02-29 13:05:00"),
		Precision: ToMinute,
		Local:     true,
		Size:      10240,
		SizeMin:   9216,
		SizeMax:   11264,
	}
	utc := Entry{
		Modified:  at("2024-02-29 13:05:07").Add(time.Second / 2),
		Precision: ToSecond,
		Size:      -1,
		SizeMin:   -1,
		SizeMax:   -1,
	}
	day := Entry{
		Modified:  at("2024-02-29 00:00:00"),
		Precision: ToDay,
		Local:     true,
		Size:      -1,
		SizeMin:   -1,
		SizeMax:   -1,
	}
	for _, c := range []struct {
		e        Entry
		modified string
		length   int64
		want     bool
	}{
		{minute, "2024-02-29 13:05:59", 10000, true}, {minute, "2024-02-29 11:05:30", 10000, true},
		{minute, "2024-02-29 07:35:30", -1, true},
		{minute, "2024-02-29 13:06:00", 10000, false}, {minute, "2024-02-29 13:04:59", 10000, false},
		{minute, "2024-03-01 13:05:30", 10000, false},
		{minute, "2024-02-29 13:05:59", 12000, false}, {minute, "2024-02-29 13:05:59", 9000, false},
		{minute, "", 9500, true}, {minute, "", 0, false},
		{utc, "2024-02-29 13:05:07", 1, true}, {utc, "2024-02-29 13:05:08", 1, false},
		{utc, "2024-02-29 12:05:07", 1, false},
		{day, "2024-02-29 23:59:59", 1, true}, {day, "2024-03-02 23:59:59", 1, false}, {
			Entry{Size: -1}, "2024-03-02 23:59:59", 1, true,
		},
	} {
		var modified time.Time
		if c.modified != "" {
			modified = at(c.modified)
		}
		if c.e.Agrees(modified, c.length) != c.want {
			t.Errorf("%s agrees with %s, %d: %v", c.e, c.modified, c.length, !c.want)
		}
	}
}

func TestDigest(t *testing.T) {
	u := mustURL(t, "http://h.example/pub/")
	parse := func(page string) *Listing {
		t.Helper()
		l, ok := Parse([]byte(page), u)
		if !ok {
			t.Fatalf("not recognized: %s", page)
		}
		return l
	}
	other := strings.ReplaceAll(nginxRow, "a.txt", "b.txt")
	base := parse(nginxHead + nginxRow + other + nginxTail).Digest()
	if parse(nginxHead+other+nginxRow+nginxTail).Digest() != base {
		t.Error("depends on the order")
	}
	seen := map[[32]byte]string{base: "base"}
	for _, rows := range []string{
		"", nginxRow, other, strings.Replace(nginxRow, "13:05", "13:06", 1) + other,
		strings.Replace(nginxRow, "999", "998", 1) + other, strings.ReplaceAll(nginxRow, "a.txt", "c.txt") + other,
		strings.ReplaceAll(nginxRow, "a.txt", "a.txt/") + other,
	} {
		d := parse(nginxHead + rows + nginxTail).Digest()
		if was, ok := seen[d]; ok {
			t.Errorf("%q has the digest of %q", rows, was)
		}
		seen[d] = rows
	}
	html, _ := Parse(sample(t, "fancyindex.html"), mustURL(t, "http://h.example/f/pub/"))
	nginx, _ := Parse(sample(t, "nginx.html"), mustURL(t, "http://h.example/n/pub/"))
	if html.Digest() != nginx.Digest() {
		t.Error("depends on the software")
	}
}

func TestLookup(t *testing.T) {
	u := mustURL(t, "http://h.example/n/pub/")
	l, ok := Parse(sample(t, "nginx.html"), u)
	if !ok {
		t.Fatal("not recognized")
	}
	for ref, want := range map[string]string{
		"README.txt": "README.txt", "%52EADME.txt": "README.txt", "docs/": "docs", "docs": "docs",
		"a%20dir%20&%20more/": "a dir & more", "100%2525.txt": "100%25.txt",
		"README.txt/": "", "README.txt?x": "", "README.txt?": "", "docs/one.html": "", "../README.txt": "",
		"/README.txt": "", "http://other.example/n/pub/README.txt": "", "https://h.example/n/pub/README.txt": "",
		"": "", "readme.txt": "", "%ff": "",
	} {
		abs, _, err := u.Resolve(ref)
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := l.Lookup(u, abs); ok != (want != "") || (ok && e.Name != want) {
			t.Errorf("%s: %v, %v", ref, e, ok)
		}
	}
	if !slices.IsSortedFunc(l.Entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted")
	}
}

func TestBounds(t *testing.T) {
	for _, s := range []string{"5E", "5.1P", "999P", "9223372036854774", "7999P"} {
		z, ok := parseSize(s)
		if ok && (z.min < 0 || z.value < z.min || z.max < z.value) {
			t.Errorf("%s: %+v", s, z)
		}
	}
	if (Entry{}).Settled(at("2024-01-01 00:00:00")) || (Entry{}).Evidence() != "" {
		t.Error("the zero entry is evidence")
	}
}

// Servers write links to another order of a listing as they like.
func TestSortLinks(t *testing.T) {
	for href, want := range map[string][2]bool{
		"?C=N;O=D":                  {true, false},
		"?C=N&O=A":                  {true, false},
		"?N=D":                      {true, false},
		"?sort=name&order=asc":      {false, true},
		"./?sort=size&order=desc":   {false, true},
		"./?C=M;O=A":                {true, false},
		"../?sort=name&order=asc":   {false, false},
		"x/?sort=name&order=asc":    {false, false},
		"?q=1":                      {false, false},
		"http://h.example/?C=N;O=D": {false, false},
	} {
		apache, caddy := isSortLink(href)
		if got := [2]bool{apache, caddy}; got != want {
			t.Errorf("%s: %v, want %v", href, got, want)
		}
	}
}
