// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mirrord/evolution"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// largeHistory is that of a site whose directories change at different rates, and are not always looked at.
func largeHistory(tb testing.TB, dirs, weeks int) *evolution.History {
	tb.Helper()
	h := new(evolution.History)
	for week := range weeks + 1 {
		r := h.Record(int64(1_500_000_000 + week*7*86400))
		for d := range dirs {
			dir := r.Dir(fmt.Sprintf("part%d/chapter%d/%d", d%30, d%300, d))
			switch {
			case week == 0:
				r.Insert(dir, 4)
			case (d*7+week*13)%(3+d%40) == 0:
				r.Update(dir, 1+d%4)
			case (d+week)%9 == 0:
				r.Miss(dir, 4)
			}
		}
		if err := r.Commit(); err != nil {
			tb.Fatal(err)
		}
	}
	return h
}

// drawHeat draws the page of a history.
func drawHeat(b *browser, h *evolution.History, all bool) string {
	b.Helper()
	w := httptest.NewRecorder()
	v := &visit{
		Server: b.srv,
		w:      w,
		r:      httptest.NewRequest(http.MethodGet, "/jobs/site/changes", nil),
		who:    account{Role: Operate},
		job:    "site",
	}
	audits := make([][]evolution.Dir, h.Len()+1) // some of what a step does not check
	for i := range audits {
		for dir := evolution.Dir(1 + i%9); int(dir) < h.Dirs().Len(); dir += 9 {
			audits[i] = append(audits[i], dir)
		}
	}
	d := heatOf("site", "", all, h.HeatMap(evolution.HeatOptions{
		All:    all,
		Most:   heatSteps,
		Audits: audits,
	}))
	if err := v.draw(http.StatusOK, "heat.html", "Change history", &d); err != nil {
		b.Fatal(err)
	}
	return w.Body.String()
}

// A large site has a page that is small, whether its directories are folded or not; in the long run it has
// 2791 directories and 80 weeks.
func TestHeatOfALargeSite(t *testing.T) {
	b := newBrowser(t, nil)
	dirs, weeks := 450, 20
	if os.Getenv("MIRRORD_LONG") != "" {
		dirs, weeks = 2790, 80
	}
	h := largeHistory(t, dirs, weeks)
	for _, all := range []bool{false, true} {
		page := drawHeat(b, h, all)
		var small bytes.Buffer
		z := gzip.NewWriter(&small)
		z.Write([]byte(page))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		doc := parse(t, page)
		rows, paths := doc.Find("table.heat tbody tr").Length(), doc.Find("table.heat tbody path").Length()
		if want := map[bool]int{false: 31, true: heatRows}[all]; rows != want {
			t.Errorf("all %v: %d rows, want %d", all, rows, want)
		}
		if most := int(evolution.Degrees) + evolution.MostDegrees + 2; paths > most*rows || paths < rows {
			t.Errorf("all %v: %d paths of %d rows", all, paths, rows)
		}
		if small.Len() > 60_000 {
			t.Errorf("all %v: %d bytes, compressed %d", all, len(page), small.Len())
		}
	}
}

// The months above the columns stay apart, and a long name keeps its end.
func TestHeatDates(t *testing.T) {
	for _, n := range []int{1, 2, 11, 80, heatSteps} {
		var times []int64
		for i := range n {
			times = append(times, time.Date(2026, 1, 1+9*i, 0, 0, 0, 0, time.UTC).Unix())
		}
		dates := heatDates(times)
		if len(dates) == 0 || len(dates) > 3 || dates[0] != (heatDate{0, "Jan 2026"}) {
			t.Errorf("%d columns have the dates %v", n, dates)
		}
		for i := 1; i < len(dates); i++ {
			if dates[i].At-dates[i-1].At < 33 || dates[i].Text == dates[i-1].Text {
				t.Errorf("%d columns have the dates %v", n, dates)
			}
		}
	}
	long := heatRow{Name: strings.Repeat("a/", 40) + "end/"}
	if got := long.Short(); !strings.HasSuffix(got, "end/") || len([]rune(got)) != heatName {
		t.Errorf("%q", got)
	}
}

// A cell says what it is by its outline and its marks, not by colour alone.
func TestHeatCells(t *testing.T) {
	got := heatPaths(&evolution.HeatRow{
		Shades: []evolution.Shade{evolution.Unchanged, evolution.Absent, evolution.Unseen, evolution.Degrees + 2},
		Audits: []int{1, 0, 0, 0},
	})
	want := []heatPath{
		{"h0", "M1 0h8v15h-8z"}, {"h2", "M21 0h8v15h-8z"}, {"h6", "M31 0h8v15h-8z"}, {"hatch", "M21 15l8-15"},
		{"sampled", "M1 7m4 0h0"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// heatHTML is the page of a map.
func heatHTML(t *testing.T, d heatData) *goquery.Document {
	t.Helper()
	w := httptest.NewRecorder()
	v := &visit{
		Server: newBrowser(t, nil).srv,
		w:      w,
		r:      httptest.NewRequest(http.MethodGet, "/jobs/site/changes", nil),
		who:    account{Role: Operate},
	}
	if err := v.draw(http.StatusOK, "heat.html", "Change history", &d); err != nil {
		t.Fatal(err)
	}
	return parse(t, w.Body.String())
}

// A directory that a rule skips is marked in the map, and the rule stands below with its support. Operators
// get a link that writes the job file's line against it.
func TestHeatShowsRules(t *testing.T) {
	h := largeHistory(t, 6, 3)
	d := heatOf("site", "", false, h.HeatMap(evolution.HeatOptions{}))
	skipped := d.Rows[2].Name
	d.skips(2, 0.37, 0.91, "rarely <when>")
	doc := heatHTML(t, d)
	doc.Find("table.heat tbody tr").Each(func(_ int, row *goquery.Selection) {
		name := row.Find("td").First().Text()
		if marked := row.Find(".s").Length() == 1; marked != (name == skipped) {
			t.Errorf("%s: marked %v", name, marked)
		}
	})
	last := doc.Find("#table + div tbody time").First()
	if at, _ := last.Attr("datetime"); at != "2017-08-04T02:40:00Z" || last.Text() != "4 Aug 2017" {
		t.Errorf("last change %q, %q", at, last.Text())
	}
	why := doc.Find("#why + p").Text()
	if !strings.Contains(why, skipped) ||
		!strings.Contains(why, "support 0.37, confidence 0.91: rarely <when>") {
		t.Errorf("the rule is shown as %q", why)
	}
}

// A directory never to be skipped is a line of the job file, which the editor shows before it is saved.
func TestNeverSkip(t *testing.T) {
	b, _ := newEditor(t, "url = \"https://a.example/\"\n")
	doc := parse(t, b.want(http.StatusOK, "What it changes", "/jobs/site/file?never=docs/old", nil))
	text, save := doc.Find("#text").Text(), doc.Find("button[value=save]").Length()
	if !strings.HasSuffix(text, "\n[[priority]]\nmatch = [\"/docs/old/**\"]\n") || save != 1 {
		t.Errorf("%d buttons to save, and the text %q", save, text)
	}
}

// A directory that a rule skips is requested by a run that takes it for a priority, beside those of the job.
func TestCheckNow(t *testing.T) {
	b, _ := newEditor(t, "url = \"https://a.example/\"\npriority = [\"/news/**\"]\n")
	b.daemon.jobs = []status.Job{{Name: "site"}}
	b.want(http.StatusSeeOther, "/jobs/site?said=run", "/jobs/site/run", url.Values{"check": {"docs/old"}})
	const want = "run site accept=false full=false now=false " +
		`priority=[{ match = ["/news/**"], every = 1 }, { match = ["/docs/old/**"], every = 1 }]`
	if got := strings.Join(b.daemon.did, "; "); got != want {
		t.Errorf("the daemon did\n%s, want\n%s", got, want)
	}
	_, set, _ := strings.Cut(want, "priority=")
	if err := new(job.Job).Set("priority", set); err != nil {
		t.Error(err)
	}
	h := largeHistory(t, 6, 3)
	d := heatOf("site", "", false, h.HeatMap(evolution.HeatOptions{}))
	d.skips(2, 0.37, 0.91, "")
	form := heatHTML(t, d).Find("form:has(input[name=check])")
	if to, _ := form.Attr("action"); to != "/jobs/site/run" {
		t.Errorf("the form is for %q", to)
	}
}

// Audits are marked in the drawing, in its legend and in the table.
func TestHeatMarksAudits(t *testing.T) {
	h := largeHistory(t, 6, 3)
	dir, _ := h.Dirs().Lookup("part2")
	m := h.HeatMap(evolution.HeatOptions{Audits: [][]evolution.Dir{nil, {dir}, nil, {dir, dir}}})
	doc := heatHTML(t, heatOf("site", "", false, m))
	if n := doc.Find("table.heat path.sampled:not(.halo)").Length(); n != 2 { // of the directory and of the root
		t.Errorf("%d rows have marks", n)
	}
	if doc.Find("p path.sampled").Length() != 1 {
		t.Error("no line says what the mark is")
	}
	column := -1
	table := doc.Find("#table + div")
	table.Find("thead th").Each(func(i int, s *goquery.Selection) {
		if s.Text() == "Sampled runs" {
			column = i
		}
	})
	got := ""
	table.Find("tbody tr").Each(func(_ int, row *goquery.Selection) {
		cells := row.Find("td")
		got += cells.Eq(0).Text() + cells.Eq(column).Text() + " "
	})
	if !strings.HasPrefix(got, "/2 ") || !strings.Contains(got, "part2/2 ") || strings.Count(got, "/0 ") != 5 {
		t.Errorf("the table says %s", got)
	}
	doc = heatHTML(t, heatOf("site", "", false, h.HeatMap(evolution.HeatOptions{})))
	if n := doc.Find("table.heat path.sampled").Length(); n != 0 {
		t.Errorf("without audits there are %d marks", n)
	}
}

// The page says what was saved and what it cost in freshness, and marks what a rule skips.
func TestHeatCost(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	later := time.Now().Add(time.Hour)
	b.daemon.jobs = []status.Job{{Name: "site", Version: 2, Verified: &later}}
	b.daemon.runs = []status.Run{
		{Ended: later, Requests: 20, Spared: map[string]int64{"rule": 50, "listing": 10}},
		{Ended: later, Requests: 10, Spared: map[string]int64{"rule": 10}},
		{Ended: later.AddDate(-1, 0, 0), Requests: 1000}, // before the first column
	}
	b.login(Read)
	doc := parse(t, b.want(http.StatusOK, "Requests saved", "/jobs/site/changes", nil))
	got := doc.Find("div.grid").Text()
	for _, want := range []string{
		"70 % of the requests", "30 were made in 2 runs", "10 by listing, 60 by rule", "0 of 1 runs with changes",
		"Oldest check",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func BenchmarkHeat(b *testing.B) {
	h := largeHistory(b, 2790, 80)
	before := cpuTime(b)
	for b.Loop() {
		d := heatOf("site", "", false, h.HeatMap(evolution.HeatOptions{Most: heatSteps}))
		if len(d.Rows[0].Paths) == 0 {
			b.Fatal("nothing was drawn")
		}
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}
