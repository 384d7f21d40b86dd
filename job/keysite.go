// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	"mirrord/evolution/policy/known"
)

func topKeys() []Key {
	return []Key{
		{
			Name:    "url",
			Type:    "URL or list of URLs",
			Example: `"https://www.example.org/docs/"`,
			Doc: "The entry points. The first is the entry point of the archive. A fragment is " +
				"dropped.",
			Risk: "An IP address, localhost or a name of one label is reached at its port even if it " +
				"is private; a name with a dot that is private needs polite.allow_private.",
			field: func(j *Job) any { return &j.URLs },
			check: checkURLs,
		},
		{
			Name:    "title",
			Type:    "text",
			Example: `"Example documentation"`,
			Doc:     "Shown in lists and written into the archive. Empty: the title of the entry page.",
			check:   func(j *Job) error { return checkLine("title", j.Title, 1000) },
		},
		{
			Name:    "authors",
			Type:    "list of names",
			Example: `["Ada Example", "Ben Example"]`,
			Doc: "Who wrote the pages, for phm.json, exports and lists, from the next version on. Empty: what " +
				"the entry page says.",
			check: checkAuthors,
		},
		{
			Name:    "copyright",
			Type:    "text",
			Example: `"© 2026 Example Organisation, CC BY 4.0"`,
			Doc:     "The copyright line, likewise.",
			check:   func(j *Job) error { return checkLine("copyright", j.Copyright, 1000) },
		},
		{
			Name:    "abstract",
			Type:    "text",
			Example: `"Manuals of the Example project."`,
			Doc:     "What the site is about, in one line of at most 4000 bytes, likewise.",
			check:   func(j *Job) error { return checkLine("abstract", j.Abstract, 4000) },
		},
		spaceKey(),
		fetchOnceKey(),
		{
			Name:    "schedule",
			Type:    "schedule",
			Example: `"30 3 * * *"`,
			Doc: "When the daemon starts a run: five cron fields, @every 6h, @daily, or continuous. " +
				"Empty: only by run-now.",
			Risk:  "Frequent runs cost the site requests and find little; see polite.",
			check: func(j *Job) error { _, err := ParseSchedule(j.Schedule); return err },
		},
		{
			Name:    "min_interval",
			Type:    "duration",
			Example: `"15m"`,
			Doc: "With schedule = continuous: shortest time from the end of a run to the next. " +
				"Between min_interval and max_interval the time follows from how often the site " +
				"changes.",
			min: int64(time.Minute),
		},
		{
			Name:    "max_interval",
			Type:    "duration",
			Example: `"1d"`,
			Doc:     "With schedule = continuous: longest time from the end of a run to the next.",
			min:     int64(time.Minute),
			check:   checkIntervals,
		},
		{
			Name:    "timezone",
			Type:    "time zone",
			Example: `"Europe/Berlin"`,
			Doc:     "Time zone of schedule and window, by its IANA name. Empty: that of the machine.",
			check:   checkTimezone,
		},
		{
			Name:    "window",
			Type:    "window",
			Example: `"22:00-06:00"`,
			Doc: "Requests are made only inside it. Outside a run pauses; it continues when the window " +
				"opens. Several spans are separated by commas.",
			Risk:  "In a window that is too short a large site never completes.",
			check: func(j *Job) error { _, err := ParseWindow(j.Window); return err },
		},
		{
			Name:    "policy",
			Type:    "choice",
			Enum:    known.All().Names(),
			Example: `"full"`,
			Doc: "Which known URLs a run requests again, conditionally. " + policyDocs() +
				". The first full_runs runs request everything, and under adaptive all runs of the first " +
				"days; see adaptive.learn_for. New URLs are always fetched.",
			Risk: "near and adaptive may show a page as it was up to limits.max_skip runs or " +
				"limits.max_skip_time ago.",
		},
		{
			Name:    "full_runs",
			Type:    "number",
			Unit:    "runs",
			Example: "10",
			Doc: "Number of complete runs that request everything before the policy skips anything. " +
				"Listings, sitemaps and lifetimes save requests in these runs, too. The policy adaptive " +
				"also waits for adaptive.learn_for.",
			Risk: "With 1 the policy judges by a single look at the site.",
			min:  1,
			max:  1000,
		},
		{
			Name: "requisites",
			Type: "choice",
			Enum: []string{
				string(RequisitesScope), string(RequisitesHost), string(RequisitesDomain), string(RequisitesAny),
			},
			Example: `"any"`,
			Doc: "Where images, style sheets, scripts and fonts of a page in scope may come from: " +
				"only the scope, the hosts of url, their registrable domains, or anywhere.",
			Risk: "scope leaves pages without their style sheets when these lie above the entry point; " +
				"any reaches hosts that the job does not name.",
		},
		{
			Name:    "priority",
			Type:    "list of tables",
			Example: `[{ match = ["/news/**"], every = 1 }]`,
			Doc: "Pages that matter more than others, each group as [[priority]] at the end of the file, or in one " +
				"line: match has globs; what matches comes first in each run (in seven of eight requests), new " +
				"pages too, and is looked at in every so many runs at least (every, default 1: each), regardless " +
				"of the policy. A list of globs alone means each run.",
			Risk: "These requests come on top of what the policy finds worthwhile; they count in " +
				"limits.max_requests and may exceed it.",
			check: checkPriority,
		},
		{
			Name:    "order",
			Type:    "choice",
			Enum:    []string{string(OrderBreadth), string(OrderDepth), string(OrderPath), string(OrderLinked)},
			Example: `"path"`,
			Doc: "Which page comes next: breadth takes the fewest link hops first, depth the most, " +
				"path goes directory by directory, linked takes first what many pages link to, and pages that " +
				"are linked so themselves. Requisites follow their page in every order. " +
				"The order matters only to a run that is cut short, as by limits.max_requests.",
		},
		{
			Name:    "obey_robots",
			Type:    "true or false",
			Example: "false",
			Doc:     "Obey robots.txt, its Crawl-delay, robots meta elements and X-Robots-Tag.",
			Risk:    "Set it to false only for a site of your own: robots.txt is the owner's word.",
		},
		{
			Name:    "obey_nofollow",
			Type:    "true or false",
			Example: "false",
			Doc:     "Do not follow links marked rel=nofollow.",
			Risk:    "Such links often lead into traps.",
		},
		{
			Name:    "scripts",
			Type:    "true or false",
			Example: "false",
			Doc: "Follow strings in scripts, and values of data-* attributes, that are plainly addresses of " +
				"files, pages that menus in scripts list, and what the search of known generators of " +
				"documentation loads (Doxygen, javadoc, rustdoc, mdBook, MkDocs, Dokka, DocFX, gi-docgen, " +
				"Haddock, Sphinx, Quarto, GitBook, bookdown, Pagefind). In pages such an address is replaced when its " +
				"target is in the mirror; script files stay byte for byte.",
			Risk: "true costs requests for strings that lead nowhere: at most 50 more than twice those " +
				"that lead somewhere. A script that uses such a string for something else may break.",
		},
		{
			Name:    "proxy",
			Type:    "URL",
			Example: `"http://proxy.example.org:3128"`,
			Doc: "Proxy for all requests: http, https, socks5 or socks5h. Empty: none; the " +
				"environment is ignored. A user and password go before the host: " +
				"http://USER:${NAME}@HOST:PORT, with the name of an environment variable, or http://USER@HOST:PORT " +
				"and auth.proxy_password_file.",
			Risk: "The proxy resolves names, so mirrord can refuse private targets by name only; the " +
				"proxy must refuse names with private addresses.",
			check: checkProxy,
		},
	}
}

func scopeKeys() []Key {
	return []Key{
		{
			Name:    "scope.kind",
			Type:    "choice",
			Enum:    []string{"directory", "host", "domain", "prefixes"},
			Example: `"host"`,
			Doc: "What belongs to the site: everything under the directory of a url, on its host, on " +
				"its registrable domain, or what starts with one of prefixes.",
			Risk: "domain includes every linked host of the domain.",
		},
		{
			Name:    "scope.prefixes",
			Type:    "list of URLs",
			Example: `["https://example.org/a/", "https://example.org/b/"]`,
			Doc:     "The URL prefixes of kind prefixes.",
			check:   checkPrefixes,
		},
		{
			Name:    "scope.include",
			Type:    "list of globs",
			Example: `["/assets/**"]`,
			Doc: "Also in scope, on the hosts of url: globs on the path, * inside a segment, ** " +
				"across segments.",
			check: func(j *Job) error { return checkGlobs(j.Scope.Include) },
		},
		{
			Name:    "scope.exclude",
			Type:    "list of globs",
			Example: `["/ftp/**", "/**/print/*"]`,
			Doc:     "Not in scope; exclude wins over include.",
			check:   checkExclude,
		},
		{
			Name:    "scope.aliases",
			Type:    "list of hosts",
			Example: `["example.org"]`,
			Doc: "Other names of the host of the first url, such as the one without www. A URL with such a name " +
				"is treated as the URL with that host: it is requested there, and links to either lead to the " +
				"one copy. No request goes to the other names. A name without a port has that of the first url; " +
				"example.org:80 is the one at the usual port.",
			Risk: "Two hosts that are not the same are mixed up. url must name the host to which the site " +
				"redirects.",
			check: checkAliases,
		},
		{
			Name:    "scope.sessions",
			Type:    "list of parameter names",
			Example: `["visit"]`,
			Doc: "Parameters that hold session ids, in queries (?visit=…) and paths (;visit=…). URLs are " +
				"requested without them. Well-known ones, such as PHPSESSID and jsessionid, need not be named.",
			Risk:  "Pages that differ in such a parameter are treated as one.",
			check: checkSessions,
		},
		{
			Name:    "scope.learn_sessions",
			Type:    "true or false",
			Example: "false",
			Doc: "Find session ids: tokens in links that are new in each answer, also when one document is " +
				"requested twice, and that change nothing of the pages behind them. URLs that differ only in " +
				"such a token are one URL, the first one.",
			Risk: "false: such a site grows until a limit ends that.",
		},
		{
			Name:    "scope.types",
			Type:    "list of file types",
			Example: `["pdf", "image/*"]`,
			Doc: "File types that belong to the mirror besides web pages; none given: all. A type is a MIME " +
				"type, image/* and the like, a short name such as pdf or zip, or images, movies, sounds. The " +
				"answer of the server decides; when its type says nothing (application/octet-stream), the " +
				"extension does. Images, style sheets, scripts and fonts that a page needs always come, and so " +
				"do entry points.",
			Risk: "Each file of another type costs a request, of which only the header is read: once, and then " +
				"in one of eight runs.",
			check: func(j *Job) error { return checkTypes(j.Scope.Types) },
		},
		{
			Name:    "scope.not_types",
			Type:    "list of file types",
			Example: `["movies", "iso"]`,
			Doc: "File types that do not belong to the mirror, written and decided as those of types; they win " +
				"over types. Links to such files lead to the origin. Pictures that are named here are left " +
				"out of pages, too: images is a mirror without pictures. Style sheets, scripts and fonts that a " +
				"page needs always come. Versions that exist keep their files.",
			check: func(j *Job) error { return checkTypes(j.Scope.NotTypes) },
		},
		{
			Name:    "programs.suffixes",
			Type:    "list of suffixes",
			Example: `[".cgi", ".php"]`,
			Doc: "Paths with these suffixes are programs: links to them are absolute, they are never " +
				"requested.",
			Risk:  "A request to a program can change things on the site.",
			check: checkSuffixes,
		},
		{
			Name:    "programs.dirs",
			Type:    "list of directory names",
			Example: `["cgi-bin", "bin"]`,
			Doc:     "Everything under a directory with such a name is a program.",
			check:   checkDirs,
		},
		{
			Name:    "programs.globs",
			Type:    "list of globs",
			Example: `["/search*"]`,
			Doc:     "URLs that match are programs.",
			check:   func(j *Job) error { return checkGlobs(j.Programs.Globs) },
		},
	}
}
