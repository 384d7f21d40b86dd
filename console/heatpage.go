// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"mirrord/app/look"
	"mirrord/evolution"
)

// How much the heat map shows, and the measures of its cells. A row is stretched to the width of the screen.
const (
	heatSteps = 104 // runs
	heatRows  = 400
	heatName  = 38 // characters of a name
	heatCell  = 10 // from cell to cell
	heatInner = 8  // width of a cell
	heatHigh  = 15
)

// heatPath is all that has one class in a row, drawn at once.
type heatPath struct{ Class, D string }

// heatDate is a month above the columns.
type heatDate struct {
	At   int // share of the width, in percent
	Text string
}

// heatRow is a directory, in the drawing and in the table.
type heatRow struct {
	evolution.HeatRow
	Name  string // with a slash at its end
	Paths []heatPath
	Last  template.HTML
	Rule  string
	To    string // where its directories are shown; "" for one that has none
}

// Short keeps the end of the name, which tells it from others.
func (r heatRow) Short() string {
	if name := []rune(r.Name); len(name) > heatName {
		return "…" + string(name[len(name)-heatName+1:])
	}
	return r.Name
}

// heatData is what the page of the heat map shows.
type heatData struct {
	Job, Top, Up string // Up is where the directory above is shown; ""
	All          bool
	Times        []int64
	Since, Until time.Time
	Width        int
	Dates        []heatDate
	Rows         []heatRow
	Skipped      []heatRow // of Rows, those that a rule skips
	More         int       // rows that are left out
	Runs         heatRuns
}

// heatRuns is what the runs of the map cost, and what looking less cost.
type heatRuns struct {
	N           int   // that are known
	Made, Saved int64 // requests
	By          string
	Late        int        // runs that found a change which the one before may have passed over
	Changed     int        // of so many that found any
	Whole       *time.Time // nothing of the mirror was last looked at before that
}

// heatCost adds up the runs that the columns are of.
func heatCost(v *visit, d *heatData) error {
	runs, err := v.Daemon.Runs(v.job, heatSteps)
	if err != nil || len(d.Rows) == 0 {
		return err
	}
	c := &d.Runs
	by := map[string]int64{}
	for _, r := range runs {
		if r.Ended.Before(d.Since) {
			continue
		}
		c.N++
		c.Made += r.Requests
		for what, n := range r.Spared {
			by[what] += n
			c.Saved += n
		}
	}
	c.By, c.Late, c.Changed = savedText(by), d.Rows[0].Late, d.Rows[0].Changed
	if j, err := v.Daemon.Job(v.job); err == nil {
		c.Whole = j.Verified
	}
	return nil
}

// Share is how many of the requests were saved that looking at everything would have taken, in percent.
func (c heatRuns) Share() string {
	return fmt.Sprintf("%.0f %%", 100*float64(c.Saved)/float64(max(1, c.Made+c.Saved)))
}

// heatPage shows how the directories of a mirror changed: a drawing, and the same as a table.
func heatPage(v *visit) error {
	r := look.HeatRequest{
		Job:  v.job,
		Path: v.r.FormValue("path"),
		All:  v.r.FormValue("all") != "",
		Most: heatSteps,
	}
	m, err := look.HeatMap(v.App, r)
	if err != nil {
		return err
	}
	d := heatOf(v.job, m.Top, r.All, m.HeatMap)
	for i := range d.Rows {
		if rule, ok := m.Rules[d.Rows[i].Path]; ok && rule.Skipped {
			d.skips(i, rule.Support, rule.Confidence, rule.Why)
		}
	}
	if err := heatCost(v, &d); err != nil {
		return err
	}
	return v.show("heat.html", "Change history of "+v.job, &d)
}

// skips says that a rule skips the directory of a row.
func (d *heatData) skips(i int, support, confidence float64, why string) {
	d.Rows[i].Rule = fmt.Sprintf("support %.2f, confidence %.2f: %s", support, confidence, why)
	d.Skipped = append(d.Skipped, d.Rows[i])
}

// heatOf is the page of a map: its table, and the drawing.
func heatOf(name, top string, all bool, m *evolution.HeatMap) heatData {
	d := heatData{
		Job:   name,
		Top:   top,
		All:   all,
		Times: m.Times,
		Width: heatCell * len(m.Times),
		Dates: heatDates(m.Times),
	}
	if n := len(m.Times); n > 0 {
		d.Since, d.Until = time.Unix(m.Times[0], 0), time.Unix(m.Times[n-1], 0)
	}
	if top != "" {
		d.Up = heatAddress(name, top[:max(0, strings.LastIndexByte(top, '/'))])
	}
	rows := m.Rows
	if len(rows) > heatRows {
		d.More, rows = len(rows)-heatRows, rows[:heatRows]
	}
	for _, x := range rows {
		row := heatRow{HeatRow: x, Name: x.Path + "/", Paths: heatPaths(&x)}
		if x.Last > 0 {
			at := time.Unix(x.Last, 0)
			row.Last = timeTag(at, at.Local().Format("2 Jan 2006"))
		}
		if x.Inner && x.Path != top {
			row.To = heatAddress(name, x.Path)
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

func heatAddress(name, dir string) string {
	to := jobPath(name, "changes")
	if dir != "" {
		to += "?path=" + url.QueryEscape(dir)
	}
	return to
}

// heatPaths draws the row of a directory: a path for each class.
func heatPaths(r *evolution.HeatRow) (out []heatPath) {
	paths := map[string]*strings.Builder{}
	draw := func(class string, column int, d string) {
		if paths[class] == nil {
			paths[class] = new(strings.Builder)
		}
		fmt.Fprintf(paths[class], "M%d %s", heatCell*column+1, d)
	}
	cell := fmt.Sprintf("0h%dv%dh-%dz", heatInner, heatHigh, heatInner)
	for j, shade := range r.Shades {
		if shade != evolution.Absent {
			draw(fmt.Sprintf("h%d", shade), j, cell)
		}
		if shade == evolution.Unseen {
			draw("hatch", j, fmt.Sprintf("%dl%d-%d", heatHigh, heatInner, heatHigh))
		}
		if r.Audits[j] > 0 {
			draw("sampled", j, fmt.Sprintf("%dm%d 0h0", heatHigh/2, heatInner/2))
		}
	}
	for _, class := range slices.Sorted(maps.Keys(paths)) { // the marks come last
		out = append(out, heatPath{class, paths[class].String()})
	}
	return out
}

// heatDates are the months above the columns: at most three, that do not overlap on a phone.
func heatDates(times []int64) (out []heatDate) {
	apart := (len(times) + 2) / 3
	for i, next := 0, 0; i < len(times); i++ {
		month := time.Unix(times[i], 0).UTC().Format("Jan 2006")
		if i >= next && (i == 0 || month != out[len(out)-1].Text) {
			out = append(out, heatDate{100 * i / len(times), month})
			next = i + apart
		}
	}
	return out
}

// Legend says what the shades mean.
func (d *heatData) Legend() []heatPath {
	return []heatPath{
		{"h0", "unchanged"}, {"h4", "up to 10 % changed"}, {"h6", "up to 30 %"}, {"h8", "more"},
		{"h2", "not checked"},
	}
}
