// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"time"

	"mirrord/policy/known"
)

// Key describes one key of a job file.
type Key struct {
	Name    string   // dotted: "polite.delay"
	Type    string   // what a person reads: "duration", "size", "list of globs" …
	Unit    string   // of a plain number, or what a value counts; may be empty
	Doc     string   // what it does, one or two sentences
	Risk    string   // what a bad choice costs; may be empty
	Example string   // a TOML value
	Enum    []string // the words allowed, for a choice
	Later   bool     // checked already, but nothing heeds it yet

	min, max int64              // of integers; max 0 is no bound
	field    func(j *Job) any   // pointer to the field
	check    func(j *Job) error // beyond the type; may be nil
}

// Default returns the key's default as a TOML value; "" when the key must be given.
func (k Key) Default() string {
	if k.Name == "url" {
		return ""
	}
	return encode(k.field(Default()))
}

// Table returns the table of the key, "" for the top level, and the key inside it.
func (k Key) Table() (table, leaf string) { return cutLast(k.Name) }

// Tables returns the tables of a job file in the order of the reference; the first, "", is the top level.
func Tables() []string {
	return []string{"", "scope", "programs", "limits", "polite", "evidence", "adaptive", "near", "reuse", "auth", "tls", "publish", "notify"}
}

// Keys returns every key of a job file in the order of the reference.
func Keys() []Key {
	var all []Key
	for _, part := range [][]Key{topKeys(), replicaKeys(), scopeKeys(), limitKeys(), politeKeys(), evidenceKeys(), policyKeys(), reuseKeys(), accessKeys(), resultKeys(), notifyKeys()} {
		all = append(all, part...)
	}
	return all
}

// policyDocs says of each policy what it asks for.
func policyDocs() string {
	var docs []string
	for _, p := range known.All() {
		docs = append(docs, string(p.Name)+": "+p.Doc)
	}
	return strings.Join(docs, ". ")
}

func topKeys() []Key {
	return []Key{
		{Name: "url", Type: "URL or list of URLs", Example: `"https://www.example.org/docs/"`,
			Doc:  "The entry points. The first is the entry point of the archive. A fragment is dropped.",
			Risk: "An address, localhost or a name of one label is reached although it is private, at the port given; a name with a dot that is private needs polite.allow_private.", field: func(j *Job) any { return &j.URLs }, check: checkURLs},
		{Name: "title", Type: "text", Example: `"Example documentation"`, Doc: "Shown in lists and written into the archive. Empty: the entry page's own title.",
			field: func(j *Job) any { return &j.Title }, check: checkTitle},
		{Name: "schedule", Type: "schedule", Example: `"30 3 * * *"`,
			Doc:  "When the daemon starts a run: five cron fields, @every 6h, @daily, or continuous. Empty: only by run-now.",
			Risk: "Too often costs the site requests and you nothing but noise; see polite.", field: func(j *Job) any { return &j.Schedule },
			check: func(j *Job) error { _, err := ParseSchedule(j.Schedule); return err }},
		{Name: "min_interval", Type: "duration", Example: `"15m"`, Doc: "With schedule = continuous: the next run starts no sooner after the end of the last. In between it follows from how often the site was seen to change.",
			min: int64(time.Minute), field: func(j *Job) any { return &j.MinInterval }},
		{Name: "max_interval", Type: "duration", Example: `"1d"`, Doc: "With schedule = continuous: the next run starts no later after the end of the last.",
			min: int64(time.Minute), field: func(j *Job) any { return &j.MaxInterval }, check: checkIntervals},
		{Name: "timezone", Type: "time zone", Example: `"Europe/Berlin"`, Doc: "Of schedule and window, by its IANA name. Empty: the machine's.",
			field: func(j *Job) any { return &j.Timezone }, check: checkTimezone},
		{Name: "window", Type: "window", Example: `"22:00-06:00"`,
			Doc:  "Requests are made only inside it; a run pauses outside and goes on when it opens again. Several spans with commas between them.",
			Risk: "A window that is too short lets a large site never complete.", field: func(j *Job) any { return &j.Window },
			check: func(j *Job) error { _, err := ParseWindow(j.Window); return err }},
		{Name: "policy", Type: "choice", Enum: known.All().Names(), Example: `"full"`,
			Doc:  "Which of the URLs that the mirror has a run asks again, conditionally. " + policyDocs() + ". The first full_runs runs ask for everything. What is new is always fetched.",
			Risk: "near and adaptive may show a page as it was up to limits.max_skip runs ago.", field: func(j *Job) any { return (*string)(&j.Policy) }},
		{Name: "full_runs", Type: "number", Unit: "runs", Example: "10", Doc: "Complete runs that ask for everything, whatever the policy, before it spares anything: what it learns from. Evidence spares all the same.",
			Risk: "1 lets a policy judge by a single look at the site.", min: 1, max: 1000, field: func(j *Job) any { return &j.FullRuns }},
		{Name: "requisites", Type: "choice", Enum: []string{string(RequisitesScope), string(RequisitesHost), string(RequisitesDomain), string(RequisitesAny)}, Example: `"any"`,
			Doc:   "From where images, style sheets, scripts and fonts of a page in scope are fetched: only inside the scope, from the hosts of url, from their registrable domains, or from anywhere.",
			Risk:  "scope leaves pages without their style when it lies above the entry point; any reaches hosts that you never named.",
			field: func(j *Job) any { return (*string)(&j.Requisites) }},
		{Name: "order", Type: "choice", Enum: []string{string(OrderBreadth), string(OrderDepth), string(OrderPath)}, Example: `"path"`,
			Doc:   "Which page comes next: breadth takes the fewest link hops first, depth the most, path goes directory after directory. Requisites come directly after their page in every order.",
			field: func(j *Job) any { return (*string)(&j.Order) }},
		{Name: "obey_robots", Type: "true or false", Example: "false", Doc: "Obey robots.txt, its Crawl-delay, robots meta elements and X-Robots-Tag.",
			Risk: "Set it to false only for a site that is yours: it is the owner's word.", field: func(j *Job) any { return &j.ObeyRobots }},
		{Name: "obey_nofollow", Type: "true or false", Example: "false", Doc: "Do not follow links marked rel=nofollow.",
			Risk: "Such links often lead into traps.", field: func(j *Job) any { return &j.ObeyNofollow }},
		{Name: "scripts", Type: "true or false", Example: "false",
			Doc:   "Follow the strings in scripts that are plainly the addresses of files, and replace those in pages whose target is in the mirror. Script files stay byte for byte.",
			Risk:  "true costs requests for strings that name nothing (at most 50 more than twice those that name something), and a script that takes such a string for something else than an address finds another one.",
			field: func(j *Job) any { return &j.Scripts }},
		{Name: "proxy", Type: "URL", Example: `"http://proxy.example.org:3128"`, Doc: "Proxy for all requests: http, https, socks5 or socks5h. Empty: none; the environment is not asked. Its password goes into [auth].",
			Risk: "The proxy resolves names, so that mirrord refuses private targets by their names alone; the proxy must refuse names that resolve to private addresses.", field: func(j *Job) any { return &j.Proxy }, check: checkProxy},
	}
}

func scopeKeys() []Key {
	return []Key{
		{Name: "scope.kind", Type: "choice", Enum: []string{"directory", "host", "domain", "prefixes"}, Example: `"host"`,
			Doc:  "What belongs to the site: what lies under the directory of a url, everything on its host, everything on its registrable domain, or what starts with one of prefixes.",
			Risk: "domain takes in every host of the domain that is linked.", field: func(j *Job) any { return &j.Scope.Kind }},
		{Name: "scope.prefixes", Type: "list of URLs", Example: `["https://example.org/a/", "https://example.org/b/"]`, Doc: "The URL prefixes of kind prefixes.",
			field: func(j *Job) any { return &j.Scope.Prefixes }, check: checkPrefixes},
		{Name: "scope.include", Type: "list of globs", Example: `["/assets/**"]`, Doc: "Also in scope, on the hosts of url: globs on the path, * inside a segment, ** across segments.",
			field: func(j *Job) any { return &j.Scope.Include }, check: func(j *Job) error { return checkGlobs(j.Scope.Include) }},
		{Name: "scope.exclude", Type: "list of globs", Example: `["/ftp/**", "/**/print/*"]`, Doc: "Not in scope; exclude beats include.",
			field: func(j *Job) any { return &j.Scope.Exclude }, check: checkExclude},
		{Name: "programs.suffixes", Type: "list of suffixes", Example: `[".cgi", ".php"]`, Doc: "Paths that end so are programs: linked absolutely, never asked for.",
			Risk: "Asking a program can change things on the site.", field: func(j *Job) any { return &j.Programs.Suffixes }, check: checkSuffixes},
		{Name: "programs.dirs", Type: "list of directory names", Example: `["cgi-bin", "bin"]`, Doc: "Everything under a directory of such a name is a program.",
			field: func(j *Job) any { return &j.Programs.Dirs }, check: checkDirs},
		{Name: "programs.globs", Type: "list of globs", Example: `["/search*"]`, Doc: "What matches is a program.",
			field: func(j *Job) any { return &j.Programs.Globs }, check: func(j *Job) error { return checkGlobs(j.Programs.Globs) }},
	}
}

func limitKeys() []Key {
	const noLimit = " 0 is no limit."
	return []Key{
		{Name: "limits.max_files", Type: "number", Unit: "resources", Example: "50000", Doc: "Most resources of the mirror. What is found beyond is left out, and the summary says so." + noLimit, field: func(j *Job) any { return &j.Limits.MaxFiles }},
		{Name: "limits.max_size", Type: "size", Example: `"20GB"`, Doc: "Most bytes of all bodies of the mirror. What is found beyond is left out, and the summary says so." + noLimit, field: func(j *Job) any { return &j.Limits.MaxSize }},
		{Name: "limits.max_body", Type: "size", Example: `"700MB"`, Doc: "A larger body is not stored, and the links to it stay absolute." + noLimit,
			Risk: "An endless body fills the disk up to min_free.", field: func(j *Job) any { return &j.Limits.MaxBody }},
		{Name: "limits.max_document", Type: "size", Example: `"4MiB"`, Doc: "A larger page or style sheet is stored as it came; its links are neither followed nor relocated.",
			Risk: "A run needs a few times this much memory.", min: 1 << 10, max: 1 << 30, field: func(j *Job) any { return &j.Limits.MaxDocument }},
		{Name: "limits.max_time", Type: "duration", Example: `"6h"`, Doc: "Longest run, pauses outside the window not counted; the run is then partial and can be resumed." + noLimit, field: func(j *Job) any { return &j.Limits.MaxTime }},
		{Name: "limits.max_depth", Type: "number", Unit: "link hops", Example: "5", Doc: "How many links a page may be away from an entry point." + noLimit, field: func(j *Job) any { return &j.Limits.MaxDepth }},
		{Name: "limits.max_path_depth", Type: "number", Unit: "path segments", Example: "16", Doc: "URLs with more path segments are taken for a trap.", min: 1, max: 1000, field: func(j *Job) any { return &j.Limits.MaxPathDepth }},
		{Name: "limits.max_repeats", Type: "number", Unit: "times", Example: "0", Doc: "A URL whose path has a segment or series of segments this often in a row (/x/x/x/, /a/b/a/b/a/b/), or one segment twice as often anywhere, is taken for a trap: a relative link on a page that answers every path makes them without end. Numbers may stand twice as often in a row and anywhere as often as they like. At least 2; 0 is no limit.",
			Risk: "Without it only max_path_depth ends such a path.", max: 1000, field: func(j *Job) any { return &j.Limits.MaxRepeats }, check: checkRepeats},
		{Name: "limits.max_links", Type: "number", Unit: "links", Example: "20000", Doc: "Most links taken from one page; the rest is left out, and the summary says so.", min: 1, max: 10_000_000, field: func(j *Job) any { return &j.Limits.MaxLinks }},
		{Name: "limits.max_url_length", Type: "number", Unit: "bytes", Example: "500", Doc: "Longer URLs are taken for a trap.", min: 64, max: 32000, field: func(j *Job) any { return &j.Limits.MaxURLLength }},
		{Name: "limits.max_redirects", Type: "number", Unit: "redirects", Example: "5", Doc: "Longest chain of redirects.", min: 1, max: 100, field: func(j *Job) any { return &j.Limits.MaxRedirects }},
		{Name: "limits.max_variants", Type: "number", Unit: "URLs", Example: "200", Doc: "How many URLs may differ only in the values of their query before further ones are taken for a trap.",
			Risk: "Too low cuts off catalogues, too high feeds traps.", min: 1, field: func(j *Job) any { return &j.Limits.MaxVariants }},
		{Name: "limits.max_dates", Type: "number", Unit: "URLs", Example: "5000", Doc: "How many URLs may differ only in the numbers of a date before further ones are taken for an endless calendar.",
			Risk: "Too low cuts off a news archive of many days.", min: 1, field: func(j *Job) any { return &j.Limits.MaxDates }},
		{Name: "limits.max_ratio", Type: "number", Unit: "times", Example: "1000", Doc: "How many times larger than its compressed form a body may be.",
			Risk: "Without it a few kilobytes unpack to a full disk.", min: 10, max: 1_000_000, field: func(j *Job) any { return &j.Limits.MaxRatio }},
		{Name: "limits.max_delete", Type: "share", Example: `"30%"`, Doc: "A run that would drop more than this share of the site, and more than 3 files, is suspicious and waits for accept. 0% is any file.",
			Risk: "100% lets an empty upstream empty the mirror.", field: func(j *Job) any { return &j.Limits.MaxDelete }},
		{Name: "limits.max_failures", Type: "share", Example: `"5%"`, Doc: "A run in which more than this share of the URLs failed is partial.",
			Risk: "0 makes one broken link end in a partial run; a failed page keeps its last good copy.", field: func(j *Job) any { return &j.Limits.MaxFailures }},
		{Name: "limits.max_skip", Type: "number", Unit: "runs", Example: "30", Doc: "How many runs in a row a resource may go without being looked at. 0 is no bound.", Risk: "This is the bound of staleness of the policies near and adaptive.",
			min: 0, max: 1000, field: func(j *Job) any { return &j.Limits.MaxSkip }},
		{Name: "limits.max_requests", Type: "number", Unit: "requests", Example: "5000", Doc: "Most requests of one run for what the mirror has already; what would be worth most is asked first, and the rest counts as skipped." + noLimit,
			Risk: "It goes before max_skip: what a small number leaves out can be old.", field: func(j *Job) any { return &j.Limits.MaxRequests }},
		{Name: "limits.retries", Type: "number", Unit: "attempts", Example: "5", Doc: "Further attempts for one URL after a failure that may pass, with growing gaps. A broken answer (not proper HTTP, cut short, or the connection ended before it) is requested once more, at the end of the run; a large file that broke off goes on where it was.", max: 20, field: func(j *Job) any { return &j.Limits.Retries }},
		{Name: "limits.min_free", Type: "size", Example: `"10GiB"`, Doc: "A run ends as partial when less than this is free on the disk of the state directory; in the daemon it goes on by itself when there is room.", field: func(j *Job) any { return &j.Limits.MinFree }},
	}
}

func politeKeys() []Key {
	return []Key{
		{Name: "polite.connections", Type: "number", Unit: "connections", Example: "16", Doc: "At a time to one host, over all jobs of the daemon. A Crawl-delay makes it 1.",
			Risk: "More than 2 is for a server of your own.", min: 1, max: 256, field: func(j *Job) any { return &j.Polite.Connections }},
		{Name: "polite.delay", Type: "duration", Example: `"1s"`, Doc: "Least gap between the starts of two requests to one host. A longer Crawl-delay wins.",
			Risk: "0s is for a server of your own.", field: func(j *Job) any { return &j.Polite.Delay }},
		{Name: "polite.factor", Type: "number", Unit: "times", Example: "5.0", Doc: "The gap is also at least this many times the host's last response time, so that a slow host is asked less.",
			max: 1000, field: func(j *Job) any { return &j.Polite.Factor }},
		{Name: "polite.max_delay", Type: "duration", Example: `"5m"`, Doc: "The gap that grows on errors, 429, 503 and slow answers stays below this. Crawl-delay and Retry-After are never shortened.", field: func(j *Job) any { return &j.Polite.MaxDelay }},
		{Name: "polite.max_wait", Type: "duration", Example: `"1h"`, Doc: "Longest Retry-After or Crawl-delay that is waited for. A Retry-After is that of its URL, which fails when it asks for longer, until several different URLs in a row ask to wait: then the host waits, or is left for the next run and the run is partial.", field: func(j *Job) any { return &j.Polite.MaxWait }},
		{Name: "polite.bandwidth", Type: "rate", Example: `"2MB/s"`, Doc: "Most bytes per second of this job. 0 is no limit.", field: func(j *Job) any { return &j.Polite.Bandwidth }},
		{Name: "polite.user_agent", Type: "text", Example: `"mirrord (+https://mirror.example.org/about)"`, Doc: "Sent with every request. Its first word, up to a slash, is the name that robots.txt is asked for.",
			Risk: "Say who you are and how to reach you: an unnamed client is the first to be blocked.", field: func(j *Job) any { return &j.Polite.UserAgent }, check: checkUserAgent},
		{Name: "polite.connect_timeout", Type: "duration", Example: `"5s"`, Doc: "Name lookup, connection and TLS handshake.", min: int64(time.Millisecond), field: func(j *Job) any { return &j.Polite.ConnectTimeout }},
		{Name: "polite.header_timeout", Type: "duration", Example: `"2m"`, Doc: "From the request to the end of the response header.", min: int64(time.Millisecond), field: func(j *Job) any { return &j.Polite.HeaderTimeout }},
		{Name: "polite.idle_timeout", Type: "duration", Example: `"1m"`, Doc: "Longest pause inside a body.", min: int64(time.Millisecond), field: func(j *Job) any { return &j.Polite.IdleTimeout }},
		{Name: "polite.total_timeout", Type: "duration", Example: `"30m"`, Doc: "One whole exchange. 0s is no limit.", field: func(j *Job) any { return &j.Polite.TotalTimeout }},
		{Name: "polite.min_rate", Type: "rate", Example: `"1kB/s"`, Doc: "A body that comes more slowly is given up, against servers that trickle for ever. 0 is no floor.", field: func(j *Job) any { return &j.Polite.MinRate }},
		{Name: "polite.allow_private", Type: "true, false or list of addresses", Example: `["10.0.0.0/8:80,443", "wiki.corp.example:8080"]`,
			Doc: "Loopback, private, link-local and unique-local addresses that the job may reach besides those that a URL of the job (url, alternates, notify.webhook) names by itself: an IP address, localhost or a name of one label, at the port of that URL. " +
				"A list names addresses, ranges or hosts, each at the ports after the colon or else at all ports; true is all of them. A name that was ever public stays refused until mirrord forget-address NAME. Cloud metadata addresses are never reached.",
			Risk: "Who owns a page, a redirect or the DNS of a host can make the mirror fetch what is allowed here, and publish the answer.", field: func(j *Job) any { return &j.Polite.AllowPrivate }},
		{Name: "polite.http2", Type: "true or false", Example: "false", Doc: "Use HTTP/2 where the server offers it.", field: func(j *Job) any { return &j.Polite.HTTP2 }},
	}
}

func evidenceKeys() []Key {
	return []Key{
		{Name: "evidence.listings", Type: "true or false", Example: "false",
			Doc:  "A directory listing of the server that shows the same time and size as before spares the requests for its files. Some files are asked all the same, and a listing that hides a change is not believed for some runs.",
			Risk: "A file that changes without its time and size is seen only when it is its turn to be asked.", field: func(j *Job) any { return &j.Evidence.Listings }},
		{Name: "evidence.sitemaps", Type: "true or false", Example: "false",
			Doc:  "A page for which the sitemap shows the same lastmod as before is not asked. Some pages are asked all the same, and a sitemap that hides a change is not believed for some runs. Without it sitemaps still tell which pages there are.",
			Risk: "A page whose lastmod is not kept up is seen only when it is its turn to be asked.", field: func(j *Job) any { return &j.Evidence.Sitemaps }},
		{Name: "evidence.expiry", Type: "true or false", Example: "true",
			Doc:  "What the site said will stay as it is for a time (max-age of Cache-Control, Expires) is not asked before that time is over, nor for longer than 30 days. Some of it is asked all the same, and lifetimes that prove wrong are not believed for some runs.",
			Risk: "Many sites name lifetimes without thought; a change is seen only after them.", field: func(j *Job) any { return &j.Evidence.Expiry }},
	}
}

func policyKeys() []Key {
	return []Key{
		{Name: "adaptive.price", Type: "number", Unit: "changed pages", Example: "0.01",
			Doc:  "What a request costs: it is made when it is expected to find at least so many changes. 0.001 asks as long as one of a thousand requests finds a change; 0 is no price: everything is asked, best first.",
			Risk: "A high price saves requests and finds changes later.", field: func(j *Job) any { return &j.Adaptive.Price }, max: 1},
		{Name: "near.min_doc", Type: "share", Example: "0.05", Doc: "Rules take a directory for changed when its degree of change (DoC) in a run is at least this, from 0 to 1, and not 0.",
			field: func(j *Job) any { return &j.Near.MinDoC }},
		{Name: "near.min_foc", Type: "share", Example: "0.1", Doc: "In what share of the runs the directories above must have changed, and the skipped one must not have changed with them (FoC), over 0 and up to 1.",
			field: func(j *Job) any { return &j.Near.MinFoC }, check: checkFoC},
		{Name: "near.min_coc", Type: "share", Example: "0.1", Doc: "How strong the negative correlation of their changes must be (CoC), from 0 to 1.",
			field: func(j *Job) any { return &j.Near.MinCoC }},
		{Name: "near.min_confidence", Type: "share", Example: "0.8", Doc: "In what share of the changes above it the skipped directory must have stayed as it was, from 0 to 1.",
			field: func(j *Job) any { return &j.Near.MinConfidence }},
		{Name: "near.expire", Type: "number", Unit: "runs", Example: "4", Doc: "A directory that was skipped for so many runs in a row has no rule any more, and is visited. 0 is never.",
			Risk: "Rules that do not expire are found wrong by their audits alone.", max: 1000, field: func(j *Job) any { return &j.Near.Expire }},
	}
}

func accessKeys() []Key {
	return []Key{
		{Name: "auth.user", Type: "text", Example: `"mirror"`, Doc: "User of HTTP basic authentication; sent only to the origins of url.", field: func(j *Job) any { return &j.Auth.User }, check: checkUser},
		{Name: "auth.password_file", Type: "path", Example: `"/etc/mirrord/example.password"`, Doc: "File that holds the password.", Risk: "Must be readable by mirrord only.", field: func(j *Job) any { return &j.Auth.PasswordFile }, check: checkPassword},
		{Name: "auth.password_env", Type: "name", Example: `"EXAMPLE_PASSWORD"`, Doc: "Environment variable that holds the password.", field: func(j *Job) any { return &j.Auth.PasswordEnv },
			check: func(j *Job) error { return checkEnv(j.Auth.PasswordEnv) }},
		{Name: "auth.cookies_file", Type: "path", Example: `"/etc/mirrord/example.cookies"`, Doc: "Cookies to start with, in the Netscape format that browsers and curl export.", Risk: "A session cookie is a password.", field: func(j *Job) any { return &j.Auth.CookiesFile }},
		{Name: "auth.cookies", Type: "true or false", Example: "true", Doc: "Keep the cookies that the site sets for the rest of the run. What redirects to itself or in a circle, and sets a cookie, is requested once more with it: session and consent walls.", Risk: "A site may show other pages to one that it recognises.", field: func(j *Job) any { return &j.Auth.Cookies }},
		{Name: "auth.headers", Type: "table of text, { env = … } or { file = … }", Example: `{ "X-Mirror" = "yes", "Authorization" = { env = "EXAMPLE_TOKEN" } }`,
			Doc: "Request headers, sent only to the origins of url. Credentials come from a file or the environment.", field: func(j *Job) any { return &j.Auth.Headers }, check: checkHeaders},
		{Name: "auth.proxy_user", Type: "text", Example: `"mirror"`, Doc: "User for the proxy.", field: func(j *Job) any { return &j.Auth.ProxyUser }, check: checkProxyUser},
		{Name: "auth.proxy_password_file", Type: "path", Example: `"/etc/mirrord/proxy.password"`, Doc: "File that holds the proxy's password.", field: func(j *Job) any { return &j.Auth.ProxyPasswordFile }},
		{Name: "auth.proxy_password_env", Type: "name", Example: `"PROXY_PASSWORD"`, Doc: "Environment variable that holds the proxy's password.", field: func(j *Job) any { return &j.Auth.ProxyPasswordEnv },
			check: func(j *Job) error { return checkEnv(j.Auth.ProxyPasswordEnv) }},
		{Name: "tls.ca_file", Type: "path", Example: `"/etc/mirrord/ca.pem"`, Doc: "PEM file of certificate authorities that are trusted besides the machine's.", field: func(j *Job) any { return &j.TLS.CAFile }},
		{Name: "tls.insecure", Type: "true or false", Example: "true", Doc: "Accept any certificate.", Risk: "Anybody on the way can then write into the mirror; use ca_file.", field: func(j *Job) any { return &j.TLS.Insecure }},
	}
}

func resultKeys() []Key {
	return []Key{
		{Name: "publish.keep", Type: "keep rule", Example: `"within 90d, yearly 5"`, Doc: `Which versions stay: all, a number, or terms such as last 7, within 90d, daily 14, weekly 8, monthly 24, yearly 10. The current version always stays. Applied after each version that is published, by the hours, days and weeks of timezone; mirrord gc applies it too, and frees the space.`,
			Risk:  "A version that is dropped cannot be had back.",
			field: func(j *Job) any { return &j.Publish.Keep }, check: func(j *Job) error { _, err := ParseKeep(j.Publish.Keep); return err }},
		{Name: "publish.dir", Type: "path", Example: `"/srv/www/samba"`, Doc: "A symbolic link that always leads to the current version, for a web server to point at. Absolute; what is there and is no such link is left alone.",
			field: func(j *Job) any { return &j.Publish.Dir }, check: checkPublishDir},
	}
}
