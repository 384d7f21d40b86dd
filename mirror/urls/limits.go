// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"cmp"
	"strconv"
	"strings"

	"mirrord/fetch/robots"
	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/relocate"
)

// Limits of what documents say that no key of a job changes.
const (
	MaxSitemaps  = 2000     // sitemaps of a run, against indexes that name one another
	MaxSitemap   = 64 << 20 // bytes of a sitemap, unpacked; the protocol has 50 MB
	MaxLocations = 200_000  // entries of a sitemap; the protocol has 50 000
	MaxGenerated = 10_000   // files that one document of a generator loads
)

// CutLimit is a limit by the name of its key in job files, or in words.
type CutLimit struct{ Name, Value string }

// LimitOf names a limit that cut a document short, with its value now.
func LimitOf(by result.Cut, l *job.Limits) CutLimit {
	switch by {
	case result.CutLinks:
		return CutLimit{"limits.max_links", strconv.FormatInt(l.MaxLinks, 10)}
	case result.CutDocument:
		return CutLimit{"limits.max_document", l.MaxDocument.String()}
	case result.CutText:
		return CutLimit{"the limit of text in another encoding", job.Size(relocate.MaxDecoded).String()}
	case result.CutURLs:
		return CutLimit{"the limit of addresses in one document", job.Size(relocate.MaxURLBytes).String()}
	case result.CutNesting:
		return CutLimit{"the limit of documents within documents", "3"}
	case result.CutEntries:
		return CutLimit{"the limit of entries of a sitemap", strconv.Itoa(MaxLocations)}
	case result.CutSitemaps:
		return CutLimit{"the limit of sitemaps", strconv.Itoa(MaxSitemaps)}
	case result.CutHeader:
		return CutLimit{"the limit of links in a header", strconv.Itoa(relocate.MaxHeaderLinks)}
	case result.CutGenerated:
		return CutLimit{"the limit of generated names", strconv.Itoa(MaxGenerated)}
	case result.CutRobots:
		return CutLimit{"the limit of robots.txt", job.Size(robots.MaxBytes).String()}
	case result.CutNoFollow:
		return CutLimit{"robots", "nofollow"}
	}
	return CutLimit{"a limit", "unknown"}
}

func (l CutLimit) String() string { return l.Name + " = " + l.Value }

// Why says what a limit did to a document, behind the address of which it stands.
func (l CutLimit) Why() string {
	if l == (CutLimit{"robots", "nofollow"}) {
		return "tells robots not to follow its links (nofollow): decide obey_nofollow in the job"
	}
	return "is cut short by " + l.String()
}

// robotsPath is where the robots.txt of an origin lies.
const robotsPath = "/robots.txt"

// RobotsOf returns the address of the robots.txt of an origin.
func RobotsOf(origin string) string { return origin + robotsPath }

// originOf returns the origin of which a URL is the robots.txt.
func originOf(url string) (origin string, ok bool) {
	origin, ok = strings.CutSuffix(url, robotsPath)
	return origin, ok && strings.Count(origin, "/") == 2
}

func compareCuts(a, b *CutDoc) int { return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.By, b.By)) }
