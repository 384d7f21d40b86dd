// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"mirrord/scheduler/status"
)

// Front is what front pages of mirror sites show of a job.
type Front struct {
	status.Job
	Upstream string // the first entry point
	Title    string // "" when the job names none
}

// FrontOptions are the choices of NewFronts.
type FrontOptions struct {
	All  func() []Front // is called for each request
	Site *MirrorzSite   // nil: there is no mirrorz.json
}

// Paths of what NewFronts serves.
const (
	TunasyncPath = "/static/tunasync.json"
	MirrorzPath  = "/mirrorz.json"
)

// NewFronts returns a handler that says how jobs stand in the forms that front pages of mirror sites read:
// those of tunasync's manager (TunasyncPath), and of MirrorZ (MirrorzPath).
func NewFronts(o FrontOptions) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+TunasyncPath, func(w http.ResponseWriter, r *http.Request) {
		out := []tunasyncMirror{}
		for _, f := range o.All() {
			out = append(out, tunasyncOf(f))
		}
		sendFront(w, r, out)
	})
	mux.HandleFunc("GET "+MirrorzPath, func(w http.ResponseWriter, r *http.Request) {
		if o.Site == nil {
			http.Error(w, "the key mirrorz of daemon.toml names the file about this site", http.StatusNotFound)
			return
		}
		// MirrorZ reads it from its own origin, and the operator who lists the site wants it to be read
		w.Header().Set("Access-Control-Allow-Origin", "*")
		sendFront(w, r, mirrorzOf(o.Site, o.All()))
	})
	return mux
}

func sendFront(w http.ResponseWriter, r *http.Request, v any) {
	isolatePage(w.Header())
	if w.Header().Get("Access-Control-Allow-Origin") != "" {
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	w.Header().Set("Cache-Control", "no-store")
	if err := writeJSON(w, r, v); err != nil {
		http.Error(w, "the status cannot be shown", http.StatusInternalServerError)
	}
}

// tunasyncMirror is WebMirrorStatus of tunasync 0.10. A time that is not known is Go's zero time, as there.
type tunasyncMirror struct {
	Name          string         `json:"name"`
	IsMaster      bool           `json:"is_master"`
	Status        tunasyncStatus `json:"status"`
	LastUpdate    string         `json:"last_update"` // the end of the last good run
	LastUpdateTs  int64          `json:"last_update_ts"`
	LastStarted   string         `json:"last_started"`
	LastStartedTs int64          `json:"last_started_ts"`
	LastEnded     string         `json:"last_ended"`
	LastEndedTs   int64          `json:"last_ended_ts"`
	Next          string         `json:"next_schedule"`
	NextTs        int64          `json:"next_schedule_ts"`
	Upstream      string         `json:"upstream"`
	Size          string         `json:"size"`
}

// tunasyncStatus is the state of a mirror as tunasync names it.
type tunasyncStatus string

const (
	tunasyncNone       tunasyncStatus = "none"
	tunasyncFailed     tunasyncStatus = "failed"
	tunasyncSuccess    tunasyncStatus = "success"
	tunasyncSyncing    tunasyncStatus = "syncing"
	tunasyncPreSyncing tunasyncStatus = "pre-syncing"
	tunasyncPaused     tunasyncStatus = "paused"
	tunasyncDisabled   tunasyncStatus = "disabled"
)

// tunasyncTime is how tunasync writes times.
const tunasyncTime = "2006-01-02 15:04:05 -0700"

func tunasyncOf(f Front) tunasyncMirror {
	m := tunasyncMirror{
		Name:     f.Name,
		IsMaster: true,
		Status:   tunasyncStatusOf(f.Job),
		Upstream: f.Upstream,
		Size:     cmp.Or(shortSize(f.Bytes), "unknown"),
	}
	m.LastUpdate, m.LastUpdateTs = tunasyncTimes(f.Complete)
	m.LastStarted, m.LastStartedTs = tunasyncTimes(startOf(f.Job))
	m.LastEnded, m.LastEndedTs = tunasyncTimes(f.LastRun)
	m.Next, m.NextTs = tunasyncTimes(f.Next)
	return m
}

func tunasyncTimes(t *time.Time) (string, int64) {
	if t == nil {
		t = new(time.Time)
	}
	return t.UTC().Format(tunasyncTime), t.Unix()
}

// startOf is when the run under way, or else the last one, started.
func startOf(j status.Job) *time.Time {
	if j.Started == nil && j.Last != nil && !j.Last.Started.IsZero() {
		return &j.Last.Started
	}
	return j.Started
}

// tunasyncStatusOf is what a job does, or how its last run ended.
func tunasyncStatusOf(j status.Job) tunasyncStatus {
	switch j.Activity {
	case status.Running, status.Ending:
		return tunasyncSyncing
	case status.Waiting, status.Window, status.NoRoom:
		return tunasyncPreSyncing
	case status.Paused:
		return tunasyncPaused
	}
	switch {
	case j.Refused && j.Last == nil:
		return tunasyncDisabled
	case j.Health == status.Damaged:
		return tunasyncFailed
	case j.Last == nil:
		return tunasyncNone
	case j.Last.Finished():
		return tunasyncSuccess
	}
	return tunasyncFailed
}

// shortSize writes a size as rsync does: "596.01G"; "" for nothing.
func shortSize(n int64) string {
	if n <= 0 {
		return ""
	}
	units := []string{"", "K", "M", "G", "T", "P"}
	f, i := float64(n), 0
	for ; f >= 1000 && i < len(units)-1; i++ {
		f /= 1000
	}
	if i == 0 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(f, 'f', 2, 64) + units[i]
}
