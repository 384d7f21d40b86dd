// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mirrord/app/daemon"
	"mirrord/scheduler/status"
)

// What a job is shown as: what an operator has to decide, else what the job does, else how its run ended.
func TestKindOf(t *testing.T) {
	half := &status.Progress{Done: 31, Queued: 17, InFlight: 2}
	for want, j := range map[string]status.Job{
		"Up to date":        {Health: status.OK, Activity: status.Idle},
		"Never ran":         {Health: status.New},
		"Running":           {Health: status.OK, Activity: status.Running},
		"Running 62 %":      {Health: status.Gaps, Activity: status.Running, Progress: half},
		"Held for review":   {Health: status.Suspicious, Activity: status.Running, Progress: half},
		"Job file invalid":  {Health: status.Invalid, Activity: status.Paused},
		"Paused":            {Health: status.Partial, Activity: status.Paused},
		"Waiting for host":  {Health: status.Down, Activity: status.Running},
		"Disk full":         {Health: status.OK, Activity: status.NoRoom},
		"Outside its hours": {Health: status.Stale, Activity: status.Window},
		"3 missing":         {Health: status.Gaps, Last: &status.Run{Gaps: 3}},
		"Damaged":           {Health: "broken"},
	} {
		if got := kindOf(&j).Word; got != want {
			t.Errorf("%+v is %q, want %q", j, got, want)
		}
	}
	for _, h := range status.Healths() { // none falls through to the first of the table
		if k := kindOf(&status.Job{Health: h}); (k.Key == "damaged") != (h == status.Damaged) {
			t.Errorf("%s is %q", h, k.Word)
		}
	}
}

// What waits for an operator is settled from the list, and each mirror is run from its row.
func TestListButtons(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(2)
	ended := b.now.Add(-time.Hour)
	held := &b.daemon.jobs[0]
	held.Health, held.Version = status.Suspicious, 3
	held.Last = &status.Run{Verdict: status.VerdictSuspicious, Ended: ended}
	b.login(Operate)
	doc := parse(t, b.want(http.StatusOK, "Keep old pages", "/", nil))
	form := doc.Find(`.need button[name=keep]`).Closest("form")
	at, _ := form.Attr("action")
	run, _ := form.Find("input[name=run]").Attr("value")
	b.want(http.StatusSeeOther, "/jobs/"+held.Name, at, url.Values{"run": {run}, "keep": {"1"}})
	row := doc.Find("table tr").Last()
	for _, act := range []string{"run", "pause"} {
		at, _ = row.Find("button[formaction$=" + act + "]").Attr("formaction")
		b.want(http.StatusSeeOther, at[:len(at)-len(act)-1], at, url.Values{})
	}
	menu := row.Find("[popover]").AttrOr("id", "?")
	if opens := row.Find("button[popovertarget]").AttrOr("popovertarget", ""); opens != menu {
		t.Errorf("the button of the row opens %q, its menu is %q", opens, menu)
	}
	want := []string{
		"run " + held.Name + " accept=true full=false now=false keep",
		"run " + b.daemon.jobs[1].Name + " accept=false full=false now=false",
		"pause " + b.daemon.jobs[1].Name,
	}
	if !slices.Equal(b.daemon.did, want) {
		t.Errorf("done was %q, want %q", b.daemon.did, want)
	}
	reader := newBrowser(t, nil)
	reader.daemon.jobs = b.daemon.jobs
	reader.login(Read)
	if page := reader.want(http.StatusOK, "Mirrors", "/", nil); strings.Contains(page, "formaction") {
		t.Error("a reader has buttons to run mirrors")
	}
}

// The list is narrowed to a state, searched by address too, and sorted by each column in both directions.
func TestListSorts(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(4)
	soon, late := b.now.Add(time.Hour), b.now.Add(48*time.Hour)
	old, fresh := b.now.Add(-72*time.Hour), b.now.Add(-time.Minute)
	for i, j := range []status.Job{
		{Health: status.OK, Files: 5, Bytes: 100, Next: &late, Verified: &fresh, Disk: &status.Disk{Total: 300}},
		{Health: status.Stale, Files: 7, Bytes: 50, Next: &soon, Verified: &old},
		{Health: status.Suspicious, Files: 1, Bytes: 900},
		{
			Health:   status.OK,
			Activity: status.Paused,
			Files:    6,
			Bytes:    10,
			Verified: &fresh,
			Disk:     &status.Disk{Total: 1800},
		},
	} {
		j.Name, j.Version = b.daemon.jobs[i].Name, 1
		b.daemon.jobs[i] = j
	}
	b.daemon.titles = map[string]daemon.MirrorTitle{"job0003": {Primary: "https://docs.example.net"}}
	b.login(Operate)
	names := func(path string) string {
		doc := parse(t, b.want(http.StatusOK, "", path, nil))
		return strings.Join(doc.Find("tbody a.name").Map(func(_ int, a *goquery.Selection) string {
			return strings.TrimPrefix(a.Text(), "job000")
		}), "")
	}
	for path, want := range map[string]string{
		"/":                            "2130",
		"/?by=name":                    "0123",
		"/?by=-name":                   "3210",
		"/?by=files":                   "1302",
		"/?by=-files":                  "2031",
		"/?by=size":                    "2013",
		"/?by=disk":                    "3012",
		"/?by=next":                    "1023",
		"/?by=checked":                 "2103",
		"/?by=nosuch":                  "2130",
		"/?state=paused":               "3",
		"/?state=needs":                "2",
		"/?state=nosuch&by=name":       "0123",
		"/?q=DOCS.example":             "3",
		"/?state=stale&q=docs.example": "",
	} {
		if got := names(path); got != want {
			t.Errorf("%s lists %s, want %s", path, got, want)
		}
	}
	doc := parse(t, b.want(http.StatusOK, "", "/?by=size&state=ok", nil))
	if to, _ := doc.Find("th[aria-sort=ascending] a").Attr("href"); to != "/?by=-size&state=ok" {
		t.Errorf("the column links to %q", to)
	}
	doc = parse(t, b.want(http.StatusOK, "2.1 kB on disk", "/?by=name", nil))
	var bars []string
	doc.Find("td .meter rect:last-child").Each(func(_ int, bar *goquery.Selection) {
		share, _ := bar.Attr("width")
		bars = append(bars, bar.Closest("td").AttrOr("data-label", "")+" "+share)
	})
	want := []string{"Size 5", "Disk usage 16", "Size 2", "Size 50", "Size 0", "Disk usage 100"}
	if !slices.Equal(bars, want) {
		t.Errorf("bars are %q, want %q", bars, want)
	}
	if got := doc.Find("td time").First(); got.Text() != "just now" && got.Text() != "1 min ago" {
		t.Errorf("last checked %q", got.Text())
	}
}

// What needs an operator comes first, grouped by its reason, with the button that settles it; readers do not
// see it.
func TestNeedsYou(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(9)
	for i := range 7 {
		b.daemon.jobs[i].Health = status.Failed
		b.daemon.jobs[i].Reasons = []string{"no answer for 3 days"}
	}
	b.daemon.jobs[8].Health, b.daemon.jobs[8].Reasons = status.Suspicious, []string{"214 of 1030 would go"}
	b.login(Operate)
	doc := parse(t, b.want(http.StatusOK, "", "/", nil))
	rows := doc.Find(".need li")
	if rows.Length() != 2 || !strings.Contains(rows.Eq(0).Text(), "no answer for 3 days") ||
		rows.Eq(0).Find("a[href='/?state=failing']").Text() != "3 more" ||
		rows.Eq(0).Find("form[action='/jobs/job0000/run'] button").Length() != 1 {
		t.Errorf("%d reasons, the first:\n%s", rows.Length(), rows.Eq(0).Text())
	}
	if !strings.Contains(rows.Eq(1).Text(), "214 of 1030 would go") ||
		rows.Eq(1).Find("a.main[href='/jobs/job0008#held']").Length() != 1 {
		t.Errorf("the second:\n%s", rows.Eq(1).Text())
	}
	b.login(Read)
	doc = parse(t, b.want(http.StatusOK, "", "/", nil))
	if n := doc.Find(".need, .bulk, .pick, [href='/new']").Length(); n > 0 {
		t.Errorf("readers see %d parts for operators", n)
	}
}

// The strip has a bar for each run, higher where more changed, and says the same in words.
func TestStrip(t *testing.T) {
	if got := strip(nil); got != "" {
		t.Errorf("no runs are %s", got)
	}
	got := string(strip([]status.Run{
		{Verdict: status.VerdictError},
		{Verdict: status.VerdictSuspicious, Removed: 3},
		{Verdict: status.VerdictComplete, Added: 90, Changed: 9},
		{Verdict: status.VerdictComplete},
	}))
	for _, want := range []string{
		`"4 last runs: 2 complete, 1 held, incomplete or with missing resources, 1 failed"`,
		`class="good" d="M162 22v-22h4v22zM156 22v-7h4v7z"`, `class="bad" d="M174 22v-7h4v7z"`,
		`class="warn" d="M168 22v-12h4v12z"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// Bars of a chart stand on one line, those of what went below it, and none leaves the drawing.
func TestChart(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	for i := range 40 {
		b.daemon.runs = append(b.daemon.runs, status.Run{
			Verdict: status.VerdictComplete,
			Removed: i,
			Added:   3,
			Started: b.now.Add(-time.Duration(i) * time.Hour),
		})
	}
	b.login(Read)
	doc := parse(t, b.want(http.StatusOK, "", "/jobs/job0000", nil))
	charts := doc.Find("svg.chart")
	rects := charts.Eq(1).Find("rect.bad")
	if charts.Length() != 4 || rects.Length() != 39 {
		t.Fatalf("%d charts, %d bars", charts.Length(), rects.Length())
	}
	zero, _ := charts.Eq(1).Find("path.zero").Attr("d")
	y := strings.TrimSuffix(strings.Fields(zero)[1], "H340")
	rects.Each(func(i int, r *goquery.Selection) {
		if at, _ := r.Attr("y"); at != y {
			t.Errorf("bar %d begins at %s and not at the line, %s", i, at, y)
		}
	})
	if strings.Contains(charts.Text(), "NaN") || strings.Contains(charts.Text(), "Inf") {
		t.Error(charts.Text())
	}
}

// A version is drawn with what it added, unless that is not known.
func TestChartOfVersions(t *testing.T) {
	runs := []status.Run{
		{Published: true, Version: 12, Removed: 1, NewBytes: 0, Bytes: 9000},
		{Version: 11},
		{Published: true, Version: 11, Changed: 2, NewBytes: 1500, Bytes: 9100},
		{Published: true, Version: 10, Added: 2, Bytes: 9000},
	}
	charts := runCharts(runs)
	c := charts[len(charts)-1]
	if c.Title != "Added by version" || c.Big != "0 B" || !strings.HasSuffix(c.Says, "of version 12") {
		t.Errorf("%s: %s %s", c.Title, c.Big, c.Says)
	}
	if got := parse(t, string(c.Drawn)).Find("title").Text(); strings.Count(got, "UTC: ") != 2 ||
		!strings.Contains(got, "UTC: 1.5 kB") || !strings.HasSuffix(got, "UTC: 0 B") {
		t.Errorf("%q", got)
	}
	if old := runCharts(append(runs[3:], status.Run{})); len(old) != len(charts)-1 {
		t.Errorf("unknown bytes are drawn: %d charts", len(old))
	}
}

// A first run that dwarfs the others is cut and has its number, so that the others can be compared; the axis
// has the number of the highest of those.
func TestChartCutsFirstRun(t *testing.T) {
	plain := func(n int64) string { return strconv.FormatInt(n, 10) }
	draw := func(added ...int64) *goquery.Selection {
		runs := make([]status.Run, len(added))
		i := len(added)
		return parse(t, string(chart("x", runs, plain, func(*status.Run) bar {
			i--
			return bar{"", []part{{"good", added[i]}}}
		}))).Find("svg")
	}
	high := func(svg *goquery.Selection, i int) float64 {
		v, _ := strconv.ParseFloat(svg.Find("rect").Eq(i).AttrOr("height", ""), 64)
		return v
	}
	svg := draw(4, 8, 9000)
	if cut := svg.Find("g").First().Find("path.cut"); cut.Length() != 1 || svg.Find("path.cut").Length() != 1 {
		t.Errorf("the first run is not cut: %s", svg.Text())
	}
	if got := svg.Find("g text").Text(); got != "9000" {
		t.Errorf("its number is %q", got)
	}
	if got := svg.Find("svg > text").First().Text(); got != "8" {
		t.Errorf("the axis has %q", got)
	}
	if first, second := high(svg, 0), high(svg, 1); first <= second || second < 2*first/3 {
		t.Errorf("the first run is %v high, the second %v", first, second)
	}
	for _, added := range [][]int64{{4, 8, 30}, {0, 0, 9000}, {7000, 5, 9000}} {
		if draw(added...).Find("path.cut").Length() > 0 {
			t.Errorf("%v: a bar is cut", added)
		}
	}
}

// Times as people say them.
func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "just now", 4 * time.Minute: "4 min ago", 23 * time.Hour: "23 h ago", 30 * time.Hour: "yesterday",
		9 * 24 * time.Hour: "9 days ago", 400 * 24 * time.Hour: "24 Oct 2025", -time.Hour: "just now",
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("%v ago is %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", 14 * time.Minute: "in 14 min", 23 * time.Hour: "in 23 h",
		38 * time.Hour: "Mon 03:00", 40 * 24 * time.Hour: "7 Jan 13:00",
	} {
		if got := soon(now, now.Add(d), "Europe/Budapest"); got != want {
			t.Errorf("%v from now is %q, want %q", d, got, want)
		}
	}
}

// Several mirrors are run and paused at once; what deletes shows first what of each.
func TestChosen(t *testing.T) {
	b, file := newEditor(t, "url = \"https://a.example/\"\n")
	b.daemon.jobs = append(b.daemon.jobs, testJobs(2)...)
	b.daemon.jobs[1].Activity = status.Ending
	b.want(http.StatusOK, "· 1 running", "/", nil)
	both := url.Values{"do": {"run"}, "job": {"job0001", "job0000", "../x"}}
	if w := b.do("/chosen", both); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	both.Set("do", "pause")
	b.do("/chosen", both)
	want := []string{
		"run job0000 accept=false full=false now=false", "run job0001 accept=false full=false now=false",
		"pause job0000", "pause job0001",
	}
	if !slices.Equal(b.daemon.did, want) {
		t.Errorf("the daemon did %q", b.daemon.did)
	}
	b.want(http.StatusBadRequest, "no mirror is selected", "/chosen", url.Values{"do": {"run"}})
	b.want(http.StatusBadRequest, "no button", "/chosen", url.Values{"do": {"sell"}, "job": {"job0000"}})
	b.want(http.StatusNotFound, "nosuch: ", "/chosen", url.Values{"do": {"run"}, "job": {"nosuch"}})
	both.Set("do", "export")
	b.want(http.StatusOK, "/jobs/job0001/export?format=zim", "/chosen", both)
	b.daemon.jobs[2].Version = 0
	without := parse(t, b.want(http.StatusOK, "no version yet", "/chosen", both))
	if n := without.Find("a[download]").Length(); n != 4 {
		t.Errorf("%d downloads of two mirrors, one without a version", n)
	}

	one := url.Values{"do": {"remove"}, "job": {"site", "job0000"}}
	doc := parse(t, b.want(http.StatusOK, "site.toml", "/chosen", one))
	tag, _ := doc.Find("input[name='tag.site']").Attr("value")
	if doc.Find("input[name=job]").Length() != 1 || tag == "" {
		t.Error("a job without a file is offered for deletion")
	}
	other := url.Values{"do": {"removeAll"}, "job": {"site"}, "tag.site": {"x"}}
	b.want(http.StatusConflict, "site: ", "/chosen", other)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("it was deleted after a change: %v", err)
	}
	w := b.do("/chosen", url.Values{"do": {"removeAll"}, "job": {"site"}, "tag.site": {tag}})
	if _, err := os.Stat(file); w.Code != http.StatusSeeOther || err == nil {
		t.Errorf("%d, %v: the job file is still there", w.Code, err)
	}
	b.login(Order)
	b.want(http.StatusForbidden, "", "/chosen", both)
}

// A mirror whose last runs failed says since when: since the first of them.
func TestListFailing(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	for i, verdict := range []string{status.VerdictError, status.VerdictError, status.VerdictComplete} {
		at := b.now.Add(-time.Duration(1+24*i) * time.Hour)
		b.daemon.runs = append(b.daemon.runs, status.Run{Verdict: verdict, Started: at, Ended: at})
	}
	b.daemon.jobs[0].Health, b.daemon.jobs[0].Last = status.Failed, &b.daemon.runs[0]
	b.login(Operate)
	doc := parse(t, b.want(http.StatusOK, "", "/", nil))
	for _, in := range []string{".need", "table"} {
		if got := doc.Find(in + " .s.bad").Text(); got != "Failing for 25 h" {
			t.Errorf("%s: %q", in, got)
		}
	}
}

// A mirror is made from an address; nothing that reaches the machine can be, and no file is overwritten.
func TestNewMirror(t *testing.T) {
	b, file := newEditor(t, "url = \"https://a.example/\"\n")
	b.want(http.StatusOK, "Save and run", "/new?url=https%3A%2F%2Fb.example%2F", nil)
	w := b.do("/new", url.Values{"url": {"b.example/docs/"}, "every": {"@weekly"}})
	to := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/jobs/b.example") {
		t.Fatalf("%d to %s\n%s", w.Code, to, w.Body)
	}
	all, err := filepath.Glob(filepath.Join(filepath.Dir(file), "b.example*.toml"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	text, err := os.ReadFile(all[0])
	if err != nil || !strings.Contains(string(text), `"https://b.example/docs/"`) ||
		!strings.Contains(string(text), "\nschedule = \"@weekly\"") {
		t.Errorf("%v:\n%s", err, text)
	}
	if !slices.Equal(b.daemon.did, []string{"reload"}) {
		t.Errorf("the daemon did %q", b.daemon.did)
	}
	b.do("/new", url.Values{"url": {"d.example"}, "name": {"later"}, "every": {"@weekly"}, "do": {"save"}})
	b.do("/new", url.Values{"url": {"e.example"}, "name": {"byhand"}, "every": {""}, "do": {"save"}})
	if !slices.Equal(b.daemon.did, []string{"reload", "reload", "reload"}) {
		t.Errorf("saved only: the daemon did %q", b.daemon.did)
	}
	for _, bad := range []url.Values{
		{"url": {"https://c.example/"}, "name": {"site"}},
		{"url": {"https://c.example/"}, "name": {"../site"}},
		{"url": {"file:///etc/passwd"}},
		{"url": {""}},
		{"url": {"https://c.example/"}, "every": {"at noon"}},
	} {
		doc := parse(t, b.want(http.StatusUnprocessableEntity, "", "/new", bad))
		if doc.Find("#problem").Text() == "" {
			t.Errorf("%v: no reason", bad)
		}
	}
	b.want(http.StatusUnprocessableEntity, "make it on the machine: mirrord init", "/new",
		url.Values{"url": {"http://192.168.1.1/"}})
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) != 4 {
		t.Errorf("files are %v", left)
	}
	b.do("/new", url.Values{"url": {"https://c.example/\"\n[hooks]\nafter = \"id\""}, "every": {"@daily"}})
	if text, err = os.ReadFile(filepath.Join(filepath.Dir(file), "c.example.toml")); err != nil ||
		strings.Contains(string(text), "\nafter") {
		t.Errorf("%v:\n%s", err, text)
	}
	b.login(Order)
	b.want(http.StatusForbidden, "", "/new", nil)
}

// Each state that is a problem has its place in the guide.
func TestStatesHaveHelp(t *testing.T) {
	rendered := guide{}
	for _, k := range kinds() {
		if k.Help != "" {
			rendered.helpLinks(t, k.Key, `<a href="/help/`+k.Help+`">`)
		} else if k.Class == "bad" || k.Class == "warn" {
			t.Errorf("%s has no help", k.Key)
		}
	}
}
