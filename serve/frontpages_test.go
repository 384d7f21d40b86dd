// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"mirrord/scheduler/status"
)

// frontJobs has a job in each state that front pages know.
func frontJobs() []Front {
	at := func(h int) *time.Time {
		t := time.Date(2026, 11, 21, h, 0, 0, 0, time.UTC)
		return &t
	}
	run := func(verdict string) *status.Run {
		return &status.Run{Verdict: verdict, Started: *at(2), Ended: *at(3)}
	}
	damaged := status.Job{Health: status.Damaged, Last: run(status.VerdictComplete), LastRun: at(3)}
	good := func(a status.Activity) status.Job {
		return status.Job{
			Activity: a,
			Last:     run(status.VerdictComplete),
			LastRun:  at(3),
			Complete: at(3),
			Next:     at(9),
			Bytes:    596_010_000_000,
		}
	}
	jobs := map[string]status.Job{
		"a-good":      good(status.Idle),
		"b-gaps":      {Activity: status.Idle, Last: run(status.VerdictGaps), LastRun: at(3), Complete: at(3)},
		"c-failed":    {Activity: status.Idle, Last: run(status.VerdictError), LastRun: at(3), Complete: at(1)},
		"d-never":     {Activity: status.Idle, Next: at(9), Added: at(0)},
		"e-running":   good(status.Running),
		"f-due":       good(status.Waiting),
		"g-paused":    good(status.Paused),
		"h-refused":   {Activity: status.Idle, Refused: true},
		"i-damaged":   damaged,
		"j-suspicion": {Activity: status.Idle, Last: run(status.VerdictSuspicious), LastRun: at(3)},
	}
	var out []Front
	for _, name := range []string{"a-good", "b-gaps", "c-failed", "d-never", "e-running", "f-due", "g-paused",
		"h-refused", "i-damaged", "j-suspicion"} {
		j := jobs[name]
		j.Name = name
		if j.Activity == status.Running {
			j.Started = at(8)
		}
		out = append(out, Front{Job: j, Upstream: "https://" + name + ".example/", Title: "<b>" + name})
	}
	return out
}

func getFront(t *testing.T, o FrontOptions, path string, into any) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	NewFronts(o).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(into); w.Code == 200 && err != nil {
		t.Fatalf("%v\n%s", err, w.Body)
	}
	return w
}

// The fields of tunasync.json are those of tunasync's WebMirrorStatus, in its forms.
func TestTunasync(t *testing.T) {
	o := FrontOptions{All: frontJobs}
	var raw []map[string]any
	getFront(t, o, TunasyncPath, &raw)
	want := map[string]any{
		"name":            "a-good",
		"is_master":       true,
		"status":          "success",
		"last_update":     "2026-11-21 03:00:00 +0000",
		"last_update_ts":  float64(1795230000),
		"last_started":    "2026-11-21 02:00:00 +0000",
		"last_started_ts": float64(1795226400),
		"last_ended":      "2026-11-21 03:00:00 +0000",
		"last_ended_ts":   float64(1795230000),
		"next_schedule":   "2026-11-21 09:00:00 +0000", "next_schedule_ts": float64(1795251600),
		"upstream": "https://a-good.example/",
		"size":     "596.01G",
	}
	if !reflect.DeepEqual(raw[0], want) {
		t.Errorf("%v,\nwant %v", raw[0], want)
	}
	states := ""
	for _, m := range raw {
		states += m["status"].(string) + " "
	}
	if states != "success success failed none syncing pre-syncing paused disabled failed failed " {
		t.Errorf("states: %s", states)
	}
	never := raw[3]
	if never["last_update"] != "0001-01-01 00:00:00 +0000" || never["last_update_ts"] != float64(-62135596800) ||
		never["size"] != "unknown" {
		t.Errorf("a job that never ran: %v", never)
	}
	if raw[4]["last_started"] != "2026-11-21 08:00:00 +0000" {
		t.Errorf("a job that runs: %v", raw[4])
	}
	none := FrontOptions{All: func() []Front { return nil }}
	if w := getFront(t, none, TunasyncPath, &raw); strings.TrimSpace(w.Body.String()) != "[]" {
		t.Errorf("no jobs: %s", w.Body)
	}
	if w := getFront(t, o, TunasyncPath, &raw); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("pages of others can read it")
	}
}

const mirrorzFile = `{"site": {"url": "https://mirrors.example", "abbr": "EX", "name": "Example"},
	"mirrors": {"a-good": {"cname": "good", "help": "/help/good"}, "b-gaps": {"hide": true},
		"c-failed": {"desc": "d", "url": "/c", "disable": true}}}`

// mirrorz.json has the fields of version 1.7, and nothing without a site.
func TestMirrorz(t *testing.T) {
	site, err := ParseMirrorzSite([]byte(mirrorzFile))
	if err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Version float64          `json:"version"`
		Site    map[string]any   `json:"site"`
		Info    []any            `json:"info"`
		Mirrors []map[string]any `json:"mirrors"`
	}
	w := getFront(t, FrontOptions{All: frontJobs, Site: site}, MirrorzPath, &raw)
	about := map[string]any{"url": "https://mirrors.example", "abbr": "EX", "name": "Example"}
	if raw.Version != 1.7 || !reflect.DeepEqual(raw.Site, about) || raw.Info == nil || len(raw.Mirrors) != 9 {
		t.Errorf("%+v", raw)
	}
	if w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Error("mirrorz.org cannot read it")
	}
	for i, want := range []map[string]any{
		{"cname": "good", "desc": "<b>a-good", "url": "/a-good", "help": "/help/good",
			"status": "S1795230000X1795251600", "upstream": "https://a-good.example/", "size": "596.01G"},
		{"cname": "c-failed", "desc": "d", "url": "/c", "help": "", "status": "F1795230000O1795222800",
			"upstream": "https://c-failed.example/", "size": "", "disable": true},
	} {
		if !reflect.DeepEqual(raw.Mirrors[i], want) {
			t.Errorf("%v,\nwant %v", raw.Mirrors[i], want)
		}
	}
	form := regexp.MustCompile(`^([A-Z](\d+)?)+$`)
	states := ""
	for _, m := range raw.Mirrors {
		s := m["status"].(string)
		if !form.MatchString(s) {
			t.Errorf("%v", m)
		}
		states += s + " "
	}
	if want := "S1795230000X1795251600 F1795230000O1795222800 UX1795251600N1795219200 Y1795248000O1795230000 " +
		"D1795251600O1795230000 P1795230000 U F1795230000 F1795230000 "; states != want {
		t.Errorf("%s\nwant %s", states, want)
	}
	if w := getFront(t, FrontOptions{All: frontJobs}, MirrorzPath, &raw); w.Code != 404 ||
		!strings.Contains(w.Body.String(), "key mirrorz") {
		t.Errorf("without a site: %d %s", w.Code, w.Body)
	}
	for text, want := range map[string]string{
		`{}`: "site.url", `{"site": {"url": "https://a.example/", "abbr": "A"}}`: "slash",
		`{"site": {"url": "https://a.example"}}`:              "site.abbr",
		`{"site": {"url": "ftp://a.example", "abbr": "A"}}`:   "no web address",
		`{"sites": {"url": "https://a.example", "abbr": ""}}`: "unknown field",
	} {
		if _, err := ParseMirrorzSite([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestShortSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "", 999: "999", 1000: "1.00K", 1_500_000: "1.50M", 596_010_000_000: "596.01G", 3 * 1e18: "3000.00P",
	} {
		if got := shortSize(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
