// SPDX-License-Identifier: Apache-2.0

package job

func limitKeys() []Key {
	const noLimit = " 0 is no limit."
	return []Key{
		{
			Name:    "limits.max_files",
			Type:    "number",
			Unit:    "resources",
			Example: "50000",
			Doc:     "Most resources of the mirror. Further ones are left out, and the summary says so." + noLimit,
		},
		{
			Name:    "limits.max_size",
			Type:    "size",
			Example: `"20GB"`,
			Doc: "Most bytes of all bodies of the mirror. Further ones are left out, and the summary " +
				"says so." + noLimit,
		},
		{
			Name:    "limits.max_body",
			Type:    "size",
			Example: `"700MB"`,
			Doc:     "A larger body is not stored; links to it stay absolute." + noLimit,
			Risk:    "An endless body fills the disk up to min_free.",
		},
		{
			Name:    "limits.max_document",
			Type:    "size",
			Example: `"4MiB"`,
			Doc: "A larger page or style sheet is stored as it came; its links are neither followed " +
				"nor relocated, and verify leaves them out. What it linked to before stays, and it is missing until " +
				"`mirrord accept`.",
			Risk: "A run needs a few times this much memory.",
			min:  1 << 10,
			max:  1 << 30,
		},
		{
			Name:    "limits.max_time",
			Type:    "duration",
			Example: `"6h"`,
			Doc: "Longest run, without pauses outside of the window and waits for a turn. The run is then " +
				"partial and can be resumed." + noLimit,
		},
		{
			Name:    "limits.max_depth",
			Type:    "number",
			Unit:    "link hops",
			Example: "5",
			Doc:     "Most links between an entry point and a page." + noLimit,
		},
		{
			Name:    "limits.max_path_depth",
			Type:    "number",
			Unit:    "path segments",
			Example: "16",
			Doc:     "A URL with more path segments counts as a trap.",
			min:     1,
			max:     1000,
		},
		{
			Name:    "limits.max_links",
			Type:    "number",
			Unit:    "links",
			Example: "20000",
			Doc: "Most links followed of one page; links that the scope excludes do not count. What a page " +
				"linked to before stays, and the rest of its links is missing until `mirrord accept`.",
			min: 1,
			max: 10_000_000,
		},
		{
			Name:    "limits.traps",
			Type:    "choice",
			Enum:    []string{"strict", "normal", "off"},
			Example: `"off"`,
			Doc: "What counts as a trap besides the other limits: a URL whose path repeats a segment or " +
				"series of segments (/x/x/x/, /a/b/a/b/a/b/) 3 times in a row (strict: 2), or one segment twice " +
				"as often anywhere, numbers apart; a URL of more than 2048 bytes (strict: 1024); and a chain of " +
				"pages that link to one another, such as the months of an empty calendar, when 32 of them in a " +
				"row (strict: 16) have no new text, pictures or links. An error page whose relative links lead " +
				"to itself counts four times. The summary names what was left out. off: none of these, and " +
				"URLs of up to 32000 bytes.",
			Risk: "strict can cut off a list with many empty pages; with off a calendar costs `max_variants` " +
				"or `max_dates` requests, and only max_path_depth ends a path that repeats itself.",
			apply: func(j *Job) { j.Limits.setTraps() },
		},
		{
			Name:    "limits.max_redirects",
			Type:    "number",
			Unit:    "redirects",
			Example: "5",
			Doc:     "Longest chain of redirects.",
			min:     1,
			max:     100,
		},
		{
			Name:    "limits.max_variants",
			Type:    "number",
			Unit:    "URLs",
			Example: "200",
			Doc: "Most URLs that differ only in the values of their query; further ones count as a " +
				"trap. Of URLs whose query is another one's in another order a twentieth of that many.",
			Risk: "Too low cuts off catalogues, too high feeds traps.",
			min:  1,
		},
		{
			Name:    "limits.max_dates",
			Type:    "number",
			Unit:    "URLs",
			Example: "5000",
			Doc: "Most URLs that differ only in the numbers of a date; further ones count as an " +
				"endless calendar.",
			Risk: "Too low cuts off a news archive of many days.",
			min:  1,
		},
		{
			Name:    "limits.max_delete",
			Type:    "share",
			Example: `"30%"`,
			Doc: "A run that would remove more than this share of the site, and more than 3 files, is " +
				"suspicious and held for review. 0%: any file. Files that new rules of the job refuse, " +
				"files that change their type or extension, files of which only the hash or version in the " +
				"address changes, and pages that left a list to which as many came and that still answer, do " +
				"not count.",
			Risk: "100% lets an empty site empty the mirror.",
		},
		{
			Name:    "limits.max_failures",
			Type:    "share",
			Example: `"5%"`,
			Doc: "Share of the requests that may fail without being reported; 3 URLs always may, unless " +
				"it is 0. When more failed, the run is published with resources missing (exit code 6) and reported.",
			Risk: "None for the mirror: a page that fails keeps its last good copy. With 0 each failure is " +
				"reported.",
		},
		{
			Name:    "limits.max_skip",
			Type:    "number",
			Unit:    "runs",
			Example: "30",
			Doc: "Most runs in a row in which a resource may be skipped, unless limits.max_skip_time is " +
				"reached before." + noLimit,
			Risk: "It bounds how old a page can be under the policies near and adaptive.",
			min:  0,
			max:  1000,
		},
		{
			Name:    "limits.max_skip_time",
			Type:    "duration",
			Example: `"60d"`,
			Doc: "The first run that begins this long after a resource was last looked at requests it, " +
				"unless limits.max_skip requires it before." + noLimit,
			Risk: "With a schedule of this interval or a longer one nothing is skipped.",
		},
		{
			Name:    "limits.max_requests",
			Type:    "number",
			Unit:    "requests",
			Example: "5000",
			Doc: "Most requests of a run for what the mirror already has, in the mean of 8 runs: what quiet " +
				"runs leave, later ones may use. The most valuable requests come first; the rest is skipped." + noLimit,
			Risk: "It wins over max_skip: with a small number pages can get old. A run after quiet ones may make " +
				"8 times as many requests.",
		},
		{
			Name:    "limits.retries",
			Type:    "number",
			Unit:    "attempts",
			Example: "5",
			Doc: "Further attempts for one URL after a transient failure, with growing pauses. A broken " +
				"answer (not proper HTTP, cut short, connection closed) is requested once more, at " +
				"the end of the run; a large file is resumed.",
			max: 20,
		},
		{
			Name:    "limits.min_free",
			Type:    "size",
			Example: `"10GiB"`,
			Doc: "A run ends as partial when less is free on the disk of the state directory. In the " +
				"daemon it continues when there is enough free space.",
		},
		{
			Name:    "limits.max_state",
			Type:    "size",
			Example: `"50GB"`,
			Doc: "Most bytes that the mirror takes in the state directory, with all versions; status JOB " +
				"shows what it takes. When it takes more, old versions yield, the oldest first, also those " +
				"that publish.keep wants; the published one and the one before it stay. When that does " +
				"not help, runs end as partial, and the published version stays." + noLimit,
		},
	}
}

// maxURLLength is how long a URL can be at most, in bytes.
const maxURLLength = 32000

// setTraps sets the limits that Traps stands for.
func (l *Limits) setTraps() {
	switch l.Traps {
	case "strict":
		l.MaxRepeats, l.MaxStale, l.MaxURLLength = 2, 16, 1024
	case "off":
		l.MaxRepeats, l.MaxStale, l.MaxURLLength = 0, 0, maxURLLength
	default:
		l.MaxRepeats, l.MaxStale, l.MaxURLLength = 3, MaxStale, 2048
	}
}
