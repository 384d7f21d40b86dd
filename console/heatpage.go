// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"mirrord/app/look"
	"mirrord/evolution"
)

// Measures of the heat map, in pixels, and how much it shows.
const (
	heatSteps  = 104 // runs
	heatRows   = 400
	heatLetter = 7 // width of a letter of a name
	heatCell   = 8
	heatWide   = 28  // largest width of a cell: eight runs fit on a phone
	heatHeight = 20  // of a row
	heatInner  = 15  // of its cells
	heatHead   = 24  // of the dates
	heatDate   = 90  // least distance of two dates
	heatName   = 38  // characters of a name
	heatAll    = 900 // largest width of the cells
)

// auditMark draws the mark of a cell with audits, a diamond, from its upper corner. heatMark is half its
// height.
const (
	heatMark  = 3
	auditMark = "l3 3-3 3-3-3z"
)

// heatPath is all that has one shade, drawn at once.
type heatPath struct {
	Shade evolution.Shade
	D     string
}

// heatText is a text of the drawing.
type heatText struct {
	X, Y     int
	Text     string
	To, Full string // where it leads, and what it is in full; ""
}

// heatRow is a row of the table, the twin of the drawing.
type heatRow struct {
	evolution.HeatRow
	Name  string // with a slash at its end
	Steps int
	Last  string
	Rule  string
	To    string // where its directories are shown; "" for one that has none
}

// heatData is what the page of the heat map shows.
type heatData struct {
	Job, Top, Up  string // Up is where the directory above is shown; ""
	All           bool
	Times         []int64
	Since, Until  time.Time
	Width, Height int
	Paths         []heatPath
	Audits        string // the marks of audits
	Grid          string // the lines between the cells
	Texts         []heatText
	Rows          []heatRow
	More          int // rows that are left out
	Runs          heatRuns
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

// Share is how many of the requests were made that looking at everything would have taken, in percent.
func (c heatRuns) Share() string {
	return fmt.Sprintf("%.0f %%", 100*float64(c.Made)/float64(max(1, c.Made+c.Saved)))
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
	return v.draw(http.StatusOK, "heat.html", "Change history of "+v.job, &d)
}

// skips says that a rule skips the directory of a row.
func (d *heatData) skips(i int, support, confidence float64, why string) {
	d.Rows[i].Rule = fmt.Sprintf("support %.2f, confidence %.2f: %s", support, confidence, why)
	d.mark(d.Rows[i].Name)
}

// heatOf is the page of a map: its table, and the drawing.
func heatOf(name, top string, all bool, m *evolution.HeatMap) heatData {
	d := heatData{
		Job:   name,
		Top:   top,
		All:   all,
		Times: m.Times,
	}
	if n := len(m.Times); n > 0 {
		d.Since, d.Until = time.Unix(m.Times[0], 0), time.Unix(m.Times[n-1], 0)
	}
	if top != "" {
		above, _ := cutLast(top)
		d.Up = heatAddress(name, above)
	}
	rows := m.Rows
	if len(rows) > heatRows {
		d.More, rows = len(rows)-heatRows, rows[:heatRows]
	}
	for _, x := range rows {
		row := heatRow{HeatRow: x, Name: x.Path + "/", Steps: len(m.Times)}
		if x.Last > 0 {
			row.Last = time.Unix(x.Last, 0).UTC().Format(time.DateOnly)
		}
		if x.Inner && x.Path != top {
			row.To = heatAddress(name, x.Path)
		}
		d.Rows = append(d.Rows, row)
	}
	d.drawMap()
	return d
}

// mark marks the name of a directory that a rule skips.
func (d *heatData) mark(name string) {
	for i := range d.Texts {
		if t := &d.Texts[i]; t.Full == name {
			t.Text, t.Full = skipMark+shortName(name, heatName-len([]rune(skipMark))), name+", skipped by rule"
			return
		}
	}
}

// skipMark marks what a rule skips.
const skipMark = "\u2298 "

func heatAddress(name, dir string) string {
	to := jobPath(name, "changes")
	if dir != "" {
		to += "?path=" + url.QueryEscape(dir)
	}
	return to
}

// cutLast cuts a path before its last name.
func cutLast(p string) (above, name string) {
	i := strings.LastIndexByte(p, '/')
	return p[:max(0, i)], p[i+1:]
}

// drawMap computes the drawing: a path for each shade, in which neighbouring cells are one rectangle.
func (d *heatData) drawMap() {
	if len(d.Times) == 0 {
		return
	}
	cell := max(heatCell, min(heatWide, heatAll/len(d.Times)))
	left := 0 // width of the names
	for _, r := range d.Rows {
		left = max(left, heatLetter*min(utf8.RuneCountInString(r.Name), heatName)+heatCell)
	}
	d.Width = left + max(cell*len(d.Times), heatDate) + heatCell
	d.Height = heatHead + heatHeight*len(d.Rows) + heatCell
	shades := make([]strings.Builder, evolution.Degrees+evolution.MostDegrees+1)
	var audits strings.Builder
	for i, r := range d.Rows {
		y := heatHead + heatHeight*i
		for from := 0; from < len(r.Shades); {
			to := from
			for to < len(r.Shades) && r.Shades[to] == r.Shades[from] {
				to++
			}
			w, h := cell*(to-from), heatInner
			fmt.Fprintf(&shades[r.Shades[from]], "M%d %dh%dv%dh-%dz", left+cell*from, y, w, h, w)
			from = to
		}
		for j, n := range r.Audits {
			if n > 0 {
				fmt.Fprintf(&audits, "M%d %d%s", left+cell*j+cell/2, y+heatInner/2-heatMark, auditMark)
			}
		}
		d.Texts = append(d.Texts, heatText{
			Y:    y + heatInner - 3,
			Text: shortName(r.Name, heatName),
			To:   r.To,
			Full: r.Name,
		})
	}
	for s := range shades {
		if shades[s].Len() > 0 {
			d.Paths = append(d.Paths, heatPath{evolution.Shade(s), shades[s].String()})
		}
	}
	d.Audits = audits.String()
	var grid strings.Builder
	for j := range len(d.Times) + 1 {
		fmt.Fprintf(&grid, "M%d %dv%d", left+cell*j-1, heatHead, heatHeight*len(d.Rows))
	}
	d.Grid = grid.String()
	last := -heatDate
	for i, at := range d.Times {
		if x := left + cell*i; x-last >= heatDate && x+heatDate <= d.Width+heatCell {
			day := time.Unix(at, 0).UTC().Format(time.DateOnly)
			d.Texts = append(d.Texts, heatText{X: x, Y: heatHead - 8, Text: day})
			last = x
		}
	}
}

// AuditMark is the mark of audits in the legend.
func (d *heatData) AuditMark() string { return "M7 4" + auditMark }

// Legend says what the shades mean.
func (d *heatData) Legend() []heatPath {
	return []heatPath{
		{evolution.Unchanged, "unchanged"}, {evolution.Degrees, "up to 10 % changed"},
		{evolution.Degrees + 2, "up to 30 %"}, {evolution.Degrees + 4, "more"}, {evolution.Unseen, "not checked"},
	}
}

// shortName keeps the end of a path, which tells it from others.
func shortName(name string, most int) string {
	if r := []rune(name); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return name
}
