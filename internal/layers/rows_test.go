// SPDX-License-Identifier: Apache-2.0

// Package layers holds the table of what may import what, and the test that keeps to it.
//
// An import goes to a lower row, never along a row or upward. Rows 0 to 3 are pure, and so is replay: no
// network, no disk, no clock, no goroutine, no log. They may use packages of others that are pure in the same
// sense. The table is checked on the source, without building it; tests are free to import what they need.
package layers

import "strings"

// Row is the place of a package. A package that is in no row fails the test: give it one in the commit that
// adds it.
type Row int

// rows is the table of docs/design.md. Paths are below the module.
func rows() map[string]Row {
	return map[string]Row{
		"cmd/mirrord": 35,

		// The commands, by what they act on; cli is what they share.
		"cmd/mirrord/daemon": 34,

		"cmd/mirrord/archives": 33, "cmd/mirrord/cluster": 33, "cmd/mirrord/jobs": 33, "cmd/mirrord/mirror": 33,

		"cmd/mirrord/cli": 32,

		"console": 31, "console/api": 31,

		// The rooms of app: what a command, a request of the API and a page do. None imports another one of its
		// row; TestRooms bounds how many each imports, and docs/design.md lists them.
		"app/ops": 30, "app/orders": 29, "app/nodes": 28, "app/daemon": 27, "app/life": 26,

		"app/care": 25, "app/shares": 25,

		"app/search": 24, "app/depots": 24, "app/serving": 24,

		"app/replicas": 23,

		"app/runs": 22, "app/archives": 22,

		"app/look": 21,

		"app/jobs": 20, "app/spaces": 20,

		"app/files": 19, "app/env": 18,

		"serve": 17, "scheduler": 17, "mirror": 17, "scheduler/control": 17,

		// The rooms of mirror: none imports another one of its row. Only mirror imports them, and app those that
		// openRooms lists. Row 16 is for the phases of a run, rows 14 and 15 for what they are made of.
		"mirror/finish": 16, "mirror/crawl": 16,

		"mirror/process": 15,

		"mirror/run": 14, "mirror/takedown": 14,

		// Row 13 is for the rooms that one run goes through, and for reports.
		"mirror/frontier":  13,
		"mirror/parse":     13,
		"mirror/verdict":   13,
		"mirror/publish":   13,
		"mirror/deadlinks": 13,
		"mirror/report":    13,
		"mirror/source":    13,

		"mirror/render": 12, "mirror/revisit": 12,

		"mirror/urls": 11, "mirror/scope": 11,

		"fetch": 10, "store": 10, "replay": 10, "scheduler/notify": 10, "serve/find": 10, "phm/space": 10,

		// The rooms of store, from what knows a disk only; docs/design.md has them.
		"store/travel": 9, "store/upkeep": 9,

		"store/facts": 8, "store/trees": 8, "store/shared": 8, "store/away": 8,

		"store/collect": 7, "store/home": 7,

		"store/blobs": 6, "store/bodies": 6, "store/db": 6,

		"store/record": 5, "store/pages": 5, "store/log": 5,

		"store/disk": 4,

		"internal/places": 10, // puts aside what a reader has not taken yet

		"archive/captured": 11, "app/access": 11,

		"cluster/objects": 10, "cluster/depot": 11,
		"cluster/engine": 11, "cluster/keeper": 11,

		"job": 3, "replica": 3, "archive": 3, "archive/crawls": 3,

		"archive/kiwix": 2, "evolution/policy/known": 2, "near": 2, "replica/hosts": 2, "replica/collections": 2,
		"phm/diff": 2, "archive/wacz": 2, "archive/projects": 2,

		"site/profile": 1,

		"evolution": 1, "relocate": 1, "phm": 1, "fetch/robots": 1, "site/listing": 1, "fetch/heads": 1,
		"internal/volatile": 1, "scheduler/status": 2, "cluster/lease": 1, "replica/text": 1, "mirror/result": 2,
		"archive/zim": 1, "archive/warc": 1,

		"site": 0, "fetch/reach": 0, "internal/dbpages": 0, "internal/charset": 0, "internal/binread": 0,
		"replica/hash": 0, "replica/unionfind": 0,

		"evolution/policy": 0, // so that packages of single policies fit below policy/known

		"internal/parts": 0, // registries

		"docs": 0, // the guide, for the console

		"internal/count": 0, // numbers as people write them

		"internal/inorder":  0, // work on all cores, in order
		"internal/lines":    0, // lines that are gathered and sorted in little memory
		"internal/zst":      0,
		"internal/numbered": 0, "internal/texts": 0,
		"internal/wording": 1, // texts for people, by templates

		"internal/webhook": 0,

		// Not part of the program's layers: they import nothing of the module, and only the command and tests
		// import them.
		"internal/demosite": helper, "internal/systemd": helper, "internal/version": helper,
		"internal/layers": helper, "internal/collector": helper,

		// Opens what others have put there: every row that is not pure uses it.
		"internal/regular": ground,
		// Waits.
		"internal/timed": ground,
	}
}

// openRooms lists the rooms of mirror that app and the commands import too: they work on a site, on what a
// run came to, or name what a run is given.
func openRooms() []string {
	return []string{"mirror/finish", "mirror/frontier", "mirror/render", "mirror/report", "mirror/result",
		"mirror/scope", "mirror/source", "mirror/takedown"}
}

// rowOf returns the row of a package. Packages below testing have scenarios, suites for
// implementations of an interface, and experiments: it imports what it likes, and only tests import it.
func rowOf(pkg string) (row Row, ok bool) {
	if strings.HasPrefix(pkg, "testing/") {
		return harness, true
	}
	row, ok = rows()[pkg]
	return row, ok
}

// Packages outside the rows.
const (
	helper  Row = -1
	harness Row = -2
	ground  Row = -3
)

// pure is the highest row that is pure.
const pure Row = 3

// isPure says whether a package keeps to what pure rows may do. Package replay uses pure packages only,
// and is above them.
func isPure(pkg string, row Row) bool { return row >= 0 && (row <= pure || pkg == "replay") }

// impure lists the standard packages that pure rows may not import, each with the reason. Packages below
// one of them count too.
func impure() map[string]string {
	return map[string]string{
		"os": "the disk and the environment", "os/exec": "processes", "os/signal": "signals",
		"path/filepath": "paths of the system; mirror paths are slash-separated",
		"net":           "the network", "net/http": "the network", "crypto/tls": "the network",
		"syscall":   "the system",
		"io/ioutil": "the disk",
		"log":       "logs belong to the acting layer", "log/slog": "logs belong to the acting layer",
		"context": "nothing here waits", "sync": "nothing here is shared", "sync/atomic": "nothing here is shared",
		"math/rand": "the same input gives the same result", "math/rand/v2": "the same input gives the same result",
		"crypto/rand": "the same input gives the same result",
		"runtime":     "the machine does not matter", "testing": "for tests",
	}
}

// pureStandard are packages below an impure one that are pure themselves.
func pureStandard() []string { return []string{"net/url", "net/netip"} }

// impureCalls lists functions of pure packages that are not.
func impureCalls() map[string][]string {
	return map[string][]string{"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick",
		"NewTimer", "NewTicker", "LoadLocation"}}
}

// allowed lists, package by package, the exceptions and why the rule does not apply to each.
func allowed() map[string]map[string]string {
	return map[string]map[string]string{
		"job": {
			"time.LoadLocation": "whether a time zone exists is a fact, wherever the table of zones lies",
			"sync":              "the table of keys is read once",
		},
		"site/profile":   {"sync": "the profiles of mirrord are read once"},
		"internal/texts": {"sync/atomic": "readers of a list with a file share what they read last"},
	}
}

// foreign lists the packages of others that pure rows may import: parsers and tables, all of them pure.
func foreign() []string {
	return []string{
		"github.com/nlnwa/whatwg-url", "golang.org/x/net/publicsuffix", "golang.org/x/net/html",
		"golang.org/x/text", "golang.org/x/net/idna",
		"github.com/PuerkitoBio/goquery", "github.com/tdewolff/parse/v2", "github.com/mmcdole/gofeed",
		"github.com/pelletier/go-toml/v2", "github.com/robfig/cron/v3",
		"github.com/klauspost/compress", "github.com/andybalholm/brotli", "github.com/zeebo/xxh3",
		"github.com/cespare/xxhash/v2", "github.com/yuin/goldmark",
		"github.com/wlynxg/chardet", "github.com/sergi/go-diff", "github.com/temoto/robotstxt",
	}
}
