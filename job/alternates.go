// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"

	"mirrord/site"
)

// replicaKeys are the keys of the top level about what others have of the site.
func replicaKeys() []Key {
	return []Key{
		{
			Name:    "alternates",
			Type:    "list of URLs",
			Example: `["https://mirror.example.net/docs/"]`,
			Doc: "Replicas of the directory of the first url, each named by the URL that stands for " +
				"that directory. When the origin is down, or answers 500 or more after all attempts, " +
				"a replica that was found to hold the same gives what the mirror lacks, and confirms what " +
				"it has. Files keep their addresses; explain and the summary say where the bytes came " +
				"from. A page never counts as gone because a replica lacks it.",
			Risk: "A replica may be behind the origin, and its owner decides on what the mirror lacks. An IP " +
				"address, localhost or a name of one label is reached at its port even if it is " +
				"private.",
			check: checkAlternates,
		},
		{
			Name:    "alternates_use",
			Type:    "choice",
			Enum:    []string{string(AlternatesFallback), string(AlternatesSpread)},
			Example: `"spread"`,
			Doc: "fallback uses alternates only when the origin fails. spread also takes from them while the " +
				"origin is well, each host at its own pace: once 8 pages of this run had the same bytes, and " +
				"while one of 16 is compared. One that differs ends it for a week, and what came from there is " +
				"requested again. Each page is requested from the origin in every second run at least.",
			Risk: "Between two comparisons an alternate that turns bad can give new pages; explain says which " +
				"came from where.",
		},
		{
			Name:    "alternates_replace",
			Type:    "true or false",
			Example: "true",
			Doc: "Let a page of an alternate take the place of the one that the mirror has, when the origin " +
				"fails: a text that was compared with it, lacks nothing of it, and has a later Last-Modified " +
				"(than the last look at the origin, if the mirror's page has none). Without it what the " +
				"mirror has stays.",
			Risk: "Advertisements and other words that the alternate adds come along, until the origin " +
				"answers again.",
		},
		{
			Name:    "repair",
			Type:    "true or false",
			Example: "true",
			Doc: "Repair broken links. What the site links to but reports as gone (404, 410) is taken " +
				"from an alternate that was found to hold the same; entry points are excluded. A " +
				"link to another site that is broken by the record of another mirror of this state " +
				"then points to an equivalent copy that such a mirror knows.",
			Risk: "What the site has removed but still links to stays in the mirror; each dead link " +
				"costs one more request. Links to other sites may lead to another host than the " +
				"author wrote; the file table says which.",
		},
	}
}

// AlternatesUse says what alternates are used for.
type AlternatesUse string

// The uses of alternates.
const (
	AlternatesFallback AlternatesUse = "fallback" // when the origin fails
	AlternatesSpread   AlternatesUse = "spread"   // also while it is well
)

// maxAlternates bounds from how many replicas one URL is requested.
const maxAlternates = 20

func checkAlternates(j *Job) error {
	if len(j.Alternates) > maxAlternates {
		return problemf("", "%d alternates are given; at most %d are allowed", len(j.Alternates), maxAlternates)
	}
	for _, raw := range j.Alternates {
		if err := checkURL(raw); err != nil {
			return err
		}
		if err := checkDirectory(raw); err != nil {
			return err
		}
		u, _, err := site.Parse(strings.TrimSpace(raw))
		if err != nil {
			return err
		}
		for _, s := range j.Seeds() {
			if s.Hostname() == u.Hostname() {
				return problemf("when a host is down, so is all that lies on it",
					"the alternate %s is on a host of url", raw)
			}
		}
	}
	return nil
}

// AlternateURLs returns the base URLs of the site's replicas.
func (j *Job) AlternateURLs() []site.URL {
	out := make([]site.URL, 0, len(j.Alternates))
	for _, raw := range j.Alternates {
		if u, _, err := site.Parse(strings.TrimSpace(raw)); err == nil {
			out = append(out, u)
		}
	}
	return out
}

// Base returns the URL of the directory of the first entry point, which alternates replicate, with a slash at
// its end; "" without an entry point.
func (j *Job) Base() string {
	seeds := j.Seeds()
	if len(seeds) == 0 {
		return ""
	}
	path := seeds[0].Path()
	return seeds[0].Origin() + path[:strings.LastIndexByte(path, '/')+1]
}
