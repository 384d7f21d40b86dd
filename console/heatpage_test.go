// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mirrord/evolution"
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
		rows, paths := doc.Find("tbody tr").Length(), doc.Find("svg.heat > path").Length()
		if want := map[bool]int{false: 31, true: heatRows}[all]; rows != want {
			t.Errorf("all %v: %d rows, want %d", all, rows, want)
		}
		if paths > int(evolution.Degrees)+evolution.MostDegrees+2 || paths < 4 {
			t.Errorf("all %v: %d paths", all, paths)
		}
		if small.Len() > 60_000 {
			t.Errorf("all %v: %d bytes, compressed %d", all, len(page), small.Len())
		}
	}
}

// The dates above the columns do not overlap, and a long name keeps its end.
func TestHeatDrawing(t *testing.T) {
	for _, n := range []int{1, 2, 11, 80, heatSteps} {
		d := heatData{Job: "site"}
		for i := range n {
			d.Times = append(d.Times, time.Date(2026, 1, i, 0, 0, 0, 0, time.UTC).Unix())
		}
		d.drawMap()
		last := -heatDate
		for _, x := range d.Texts {
			if x.X-last < heatDate || x.X+heatDate > d.Width+heatDate {
				t.Errorf("%d columns, width %d: %+v after %d", n, d.Width, x, last)
			}
			last = x.X
		}
		if len(d.Texts) == 0 {
			t.Errorf("%d columns have no date", n)
		}
	}
	long := strings.Repeat("a/", 40) + "end/"
	if got := shortName(long, heatName); !strings.HasSuffix(got, "end/") || len([]rune(got)) != heatName {
		t.Errorf("%q", got)
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
	}
	if err := v.draw(http.StatusOK, "heat.html", "Change history", &d); err != nil {
		t.Fatal(err)
	}
	return parse(t, w.Body.String())
}

// A directory that a rule skips is marked in the drawing, and the table has the rule with its support.
func TestHeatShowsRules(t *testing.T) {
	h := largeHistory(t, 6, 3)
	d := heatOf("site", "", false, h.HeatMap(evolution.HeatOptions{}))
	skipped := d.Rows[2].Name
	d.skips(2, 0.37, 0.91, "rarely <when>")
	doc := heatHTML(t, d)
	doc.Find("tbody tr").Each(func(_ int, row *goquery.Selection) {
		want := ""
		if name := row.Find("td").First().Text(); name == skipped {
			want = "support 0.37, confidence 0.91: rarely <when>"
		}
		if got := row.Find("td").Last().Text(); got != want {
			t.Errorf("%s: the rule %q, want %q", row.Find("td").First().Text(), got, want)
		}
	})
	drawn := doc.Find("svg.heat").Text()
	if !strings.Contains(drawn, skipMark+skipped) || strings.Count(drawn, skipMark) != 1 {
		t.Errorf("the drawing has the marks %q", drawn)
	}
}

// Audits are marked in the drawing, in its legend and in the table.
func TestHeatMarksAudits(t *testing.T) {
	h := largeHistory(t, 6, 3)
	dir, _ := h.Dirs().Lookup("part2")
	m := h.HeatMap(evolution.HeatOptions{Audits: [][]evolution.Dir{nil, {dir}, nil, {dir, dir}}})
	doc := heatHTML(t, heatOf("site", "", false, m))
	mark, _ := doc.Find("svg.heat > path.audit").Attr("d")
	if n := strings.Count(mark, "M"); n != 4 { // two runs, of the directory and of the root
		t.Errorf("%d marks: %s", n, mark)
	}
	if x := fmt.Sprintf("M%d ", heatLetter*len("part0/")+heatCell+heatWide/2); strings.Count(mark, x) != 2 {
		t.Errorf("the first column is at %s: %s", x, mark)
	}
	if doc.Find("ul.legend + p path.audit").Length() != 1 {
		t.Error("no line says what the mark is")
	}
	column := -1
	doc.Find("thead th").Each(func(i int, s *goquery.Selection) {
		if s.Text() == "Sampled runs" {
			column = i
		}
	})
	got := ""
	doc.Find("tbody tr").Each(func(_ int, row *goquery.Selection) {
		cells := row.Find("td")
		got += cells.Eq(0).Text() + cells.Eq(column).Text() + " "
	})
	if !strings.HasPrefix(got, "/2 ") || !strings.Contains(got, "part2/2 ") || strings.Count(got, "/0 ") != 5 {
		t.Errorf("the table says %s", got)
	}
	doc = heatHTML(t, heatOf("site", "", false, h.HeatMap(evolution.HeatOptions{})))
	if n := doc.Find("svg.heat > path.audit").Length(); n != 0 {
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
	doc := parse(t, b.want(http.StatusOK, "Requests saved, and", "/jobs/site/changes", nil))
	got := doc.Find("#cost + dl").Text()
	for _, want := range []string{
		"30 in 2 runs, 30 %", "10 by listing, 60 by rule", "0 of 1 run with changes", "all was checked",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	long := strings.Repeat("a/", 40) + "end/"
	d := heatData{Texts: []heatText{{Full: "b/", Text: "b/"}, {Full: long, Text: shortName(long, heatName)}}}
	d.mark(long)
	if x := d.Texts[1]; !strings.HasPrefix(x.Text, skipMark) || !strings.HasSuffix(x.Text, "end/") ||
		len([]rune(x.Text)) != heatName || d.Texts[0].Text != "b/" {
		t.Errorf("%+v", d.Texts)
	}
}

func BenchmarkHeat(b *testing.B) {
	h := largeHistory(b, 2790, 80)
	before := cpuTime(b)
	for b.Loop() {
		d := heatOf("site", "", false, h.HeatMap(evolution.HeatOptions{Most: heatSteps}))
		if len(d.Paths) == 0 {
			b.Fatal("nothing was drawn")
		}
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}
