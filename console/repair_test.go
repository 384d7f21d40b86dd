// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/scheduler/status"
)

// Each remedy of a damaged disk has a button: repaired is what has a copy, lost files are named before they
// are removed, and a database whose log is damaged too is made from the published version only when asked.
func TestRepair(t *testing.T) {
	b, site := damageable(t)
	b.login(Read)
	b.want(http.StatusForbidden, "your role", "/jobs/site/repair", url.Values{})
	b.login(Operate)
	b.want(http.StatusOK, `href="/jobs/site/repair">Repair…</a>`, "/jobs/site", nil)
	b.want(http.StatusOK, `<li><a href="/jobs/site/repair">`, "/jobs/site/repair", nil)
	repair := func(code int, want string, also ...string) string {
		t.Helper()
		return b.want(code, want, "/jobs/site/repair", url.Values{"also": also})
	}
	repair(http.StatusOK, "Everything is good")

	spoilAll(t, 460, site, "packs", "*") // not the first frame, which has most pages
	spoilAll(t, 10, site, "current", "docs", "1.html")
	page := repair(http.StatusOK, "lost file")
	if !strings.Contains(page, "Remove them from these versions") || !strings.Contains(page, "in version") {
		t.Error(page)
	}
	repair(http.StatusOK, "removed from the versions that had them", "lost")
	repair(http.StatusOK, "Everything is good")

	db := filepath.Join(site, "site.db")
	spoil(t, db, 1<<10)
	repair(http.StatusOK, "The database was made again.")
	spoil(t, db, 1<<10)
	spoilAll(t, 64, site, "log", "*")
	repair(http.StatusConflict, "Rebuild from the published version")
	repair(http.StatusConflict, "its log", "lost")
	repair(http.StatusOK, "known again from the published version", "rebuild")
	repair(http.StatusOK, "Everything is good")
	spoilAll(t, 10, site, "current", "docs", "*.html") // which are the only copies now
	repair(http.StatusOK, `formaction="/jobs/site/run"`)
}

// What would leave nothing of a version is not done, and the page says how a mirror is deleted.
func TestRepairOfNothing(t *testing.T) {
	b, site := damageable(t)
	spoilAll(t, 100, site, "packs", "*")
	spoilAll(t, 10, site, "current", "docs", "*.html")
	spoilAll(t, 10, site, "current", "index.html")
	b.want(http.StatusOK, "Something is still wrong", "/jobs/site/repair", url.Values{})
	b.want(http.StatusConflict, `href="/jobs/site/remove">Delete the job…</a> deletes a mirror`,
		"/jobs/site/repair", url.Values{"also": {"lost"}})
}

// damageable is a mirror named site for an operator, and its folder in the state.
func damageable(t *testing.T) (b *browser, site string) {
	a := mirrored(t)
	dir, _ := a.State()
	b = newBrowser(t, func(o *Options) { o.App = a })
	b.daemon.jobs = []status.Job{{Name: "site", Version: 2, Problems: []string{status.DropHint("site")}}}
	b.login(Operate)
	return b, filepath.Join(dir, "sites", "site")
}

// spoilAll damages the files of a pattern.
func spoilAll(t *testing.T, every int, pattern ...string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(all) == 0 {
		t.Fatal(pattern, err)
	}
	for _, name := range all {
		spoil(t, name, every)
	}
}

// spoil damages a file, every so many bytes.
func spoil(t *testing.T, name string, every int) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := every; i < len(data); i += every {
		data[i] ^= 0x5a
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
