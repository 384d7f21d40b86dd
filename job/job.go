// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"mirrord/evolution/policy"
	"mirrord/fetch/reach"
	"mirrord/site"
	"mirrord/site/profile"
)

// Job is one job. Every field has its key, unit, default and risk in Keys and in docs/jobs.md.
// A Job is plain data: it may be copied, and it is safe for concurrent use while no caller uses Set.
type Job struct {
	Name string // file name without .toml; see ValidName
	File string // where it was read from, for messages

	// what of the file is accepted and will not do what it seems to: keys that are ignored, values that are
	// probably meant otherwise
	Warnings []Error

	URLs  []string // url: entry points; the first is the archive's
	Title string
	// what phm.json says of the archive; empty: what its entry page says
	Authors             []string
	Copyright, Abstract string

	Space string // in which links to URLs of other mirrors of it lead to these; "": no space
	// FetchOnce is how old the answer may be that another mirror of the space got; 0: none is taken.
	FetchOnce time.Duration

	Schedule string // see ParseSchedule; "" means only by hand
	// bounds of schedule continuous, from the end of a run to the start of the next
	MinInterval, MaxInterval time.Duration
	Timezone                 string // IANA name; "" means the machine's
	Window                   string // see ParseWindow; "" means always

	Scope         WrittenScope
	Policy        policy.Name
	FullRuns      int64 // complete runs that ask for everything before the policy spares anything
	Requisites    Requisites
	Order         Order
	ObeyRobots    bool
	ObeyNofollow  Nofollow
	Profile       string // of the program that makes the site: a name, auto or none
	Scripts       bool   // addresses of files that are strings of scripts are followed and relocated
	Proxy         string
	Alternates    []string // base URLs of replicas of the first url's directory; see Base
	AlternatesUse AlternatesUse

	AlternatesReplace bool // a newer page of a replica takes the place of the mirror's

	Repair   bool // a page that is gone but linked is taken from an alternate
	Priority []PriorityRule

	Programs WrittenPrograms
	Limits   Limits
	Polite   Polite
	Evidence Evidence
	Adaptive Adaptive
	Near     Near
	Reuse    Reuse
	Auth     Auth
	TLS      TLS
	Publish  Publish
	Hooks    Hooks
	Notify   Notify

	// Profiles are those that are known; nil: those of mirrord. Not a key.
	Profiles *profile.Catalog

	// No keys, but choices of who makes one run.
	Only []site.URL // what the run is for; none: the whole job
	All  bool       // the run requests everything, see AskAll
	// the run makes one request of each host that asked to wait for long, and continues if that is answered
	Insist bool
}

// Nofollow says whether nofollow is obeyed. ByProfile: but for what the profile of the site wants.
type Nofollow struct{ Obeyed, ByProfile bool }

// ProfileDigest names the file of the named profile; "" without one.
func (j *Job) ProfileDigest() string {
	if j.Profiles == nil {
		j = &Job{Profile: j.Profile, Profiles: profile.Known()}
	}
	if p := j.Profiles.Find(j.Profile); p != nil {
		return p.Digest
	}
	return ""
}

// Requisites says from where images, style sheets and other requisites of a page in scope may be fetched.
type Requisites string

// The requisite rules.
const (
	RequisitesScope Requisites = "scope" // only from inside the scope
	RequisitesHost  Requisites = "host"  // also from elsewhere on the hosts of url
	// also from the registrable domains of url, such as static.example.org
	RequisitesDomain Requisites = "domain"
	RequisitesAny    Requisites = "any" // from anywhere
)

// Order says which URL of the frontier is requested first.
type Order string

// The orders.
const (
	OrderBreadth Order = "breadth" // fewest link hops first; requisites directly after their page
	OrderDepth   Order = "depth"   // most link hops first
	OrderPath    Order = "path"    // by path, directory after directory
	OrderLinked  Order = "linked"  // what many pages, and such pages, link to
)

// WrittenScope is the job's scope as written; package site compiles it.
type WrittenScope struct {
	Kind     string   // directory, host, domain or prefixes
	Prefixes []string // URL prefixes, for kind prefixes
	Include  []string // globs that widen the scope
	Exclude  []string // globs that narrow it; exclude beats include
	Aliases  []string // other names of the host of the first URL
	Sessions []string // parameters that hold session ids
	// URLs that differ only in a token that is new in each answer are one
	LearnSessions bool
	Types         []string // file types that are wanted; none: all
	NotTypes      []string // file types that are not wanted; they beat Types
}

// WrittenPrograms says which URLs are programs: linked absolutely, never requested.
type WrittenPrograms struct {
	Suffixes []string // path suffixes such as ".cgi"
	Dirs     []string // directory names such as "cgi-bin"
	Globs    []string // globs on the path or the URL
}

// Limits are the caps of one run. Each cap says so when it bites.
type Limits struct {
	MaxFiles     int64         // resources; 0 no limit
	MaxSize      Size          // bytes over all bodies; 0 no limit
	MaxBody      Size          // bytes of one body; 0 no limit
	MaxDocument  Size          // bytes of a page that is scanned for links
	MaxTime      time.Duration // of one run; 0 no limit
	MaxDepth     int64         // link hops from an entry point; 0 no limit
	MaxPathDepth int64         // path segments
	Traps        string        // strict, normal or off; sets MaxRepeats, MaxURLLength and MaxStale
	MaxRepeats   int64         // times that a segment or series of segments follows itself; 0 no limit
	MaxLinks     int64         // links taken from one page
	MaxURLLength int64         // bytes
	MaxRedirects int64         // in one chain
	MaxVariants  int64         // URLs that differ only in the values of their query
	MaxDates     int64         // URLs that differ only in the numbers of a date
	MaxStale     int64         // pages of a chain in a row without anything new; 0 no limit
	MaxRatio     int64         // decompressed to compressed
	MaxDelete    Share         // of the site that one run may drop without accept
	MaxFailures  Share         // of the requested URLs that may fail in a complete run
	MaxSkip      int64         // runs in a row in which a resource may be skipped; 0 no bound
	MaxSkipTime  string        // that a resource may be skipped for; "": by the schedule, see Job.MaxSkipTime
	MaxRequests  int64         // of known URLs, in one run; 0 no limit
	Retries      int64         // of one URL after a passing failure
	MinFree      Size          // bytes that must stay free on the state's disk
	MaxState     Size          // bytes that the mirror may take in the state; 0 no limit
}

// Polite is how the job treats each host. All jobs of a daemon count together; the strictest wins.
type Polite struct {
	Connections    int64         // at a time to one host
	Delay          time.Duration // least gap between two requests to one host
	Factor         float64       // the gap is at least this times the last response time
	MaxDelay       time.Duration // the adaptive gap never grows beyond; Crawl-delay and Retry-After may
	MaxWait        time.Duration // a Retry-After or Crawl-delay longer than this ends the host's part of the run
	Bandwidth      Rate          // of the job; 0 no limit
	UserAgent      string        // its first word is the product token for robots.txt
	ConnectTimeout time.Duration
	HeaderTimeout  time.Duration
	IdleTimeout    time.Duration
	TotalTimeout   time.Duration // of one exchange; 0 no limit
	MinRate        Rate          // slower bodies are given up; 0 no floor
	AllowPrivate   Private
	HTTP2          bool
}

// Private says which loopback, private and link-local addresses a job may reach besides those that its URLs
// name by themselves.
type Private struct {
	All   bool
	Rules []reach.Rule
}

// Evidence says what spares requests for resources that a run knows already.
type Evidence struct {
	Listings bool // time and size in a directory listing
	Sitemaps bool // lastmod in a sitemap
	Expiry   bool // the lifetime that the site named in its answer
}

// Adaptive is how the policy adaptive decides.
type Adaptive struct {
	Price   float64       // of a request, in changed pages that it must be expected to find; 0 none
	PriceMB float64       // of a megabyte that is transferred, on top; 0 none
	Late    time.Duration // how late changes may be found, in the mean; 0 no goal
	// how long the complete runs must span before anything is skipped; "": by the schedule, see Job.LearnFor
	LearnFor string
}

// Near is how the policy near makes and follows rules; the thresholds are those of package near.
type Near struct {
	MinDoC        Share
	MinFoC        Share
	MinCoC        Share
	MinConfidence Share
	// runs after which a rule ends, because its directory was skipped in all of them; 0 never
	Expire int64
}

// Auth is what the job shows to the site. Credentials are only sent to the origins of URLs.
type Auth struct {
	User          string
	Password      Secret // of the environment or a file
	CookiesFile   string // Netscape cookie file
	Cookies       bool   // keep cookies that the site sets, for the run
	Headers       map[string]Secret
	ProxyUser     string // see ProxyServer
	ProxyPassword Secret // of the environment or a file
}

// Given reports whether the job shows anything to the site that others do not.
func (a Auth) Given() bool {
	return a.User != "" || a.CookiesFile != "" || len(a.Headers) > 0
}

// ProxyServer returns the proxy without its login, "" for none, and the user and password for it.
func (j *Job) ProxyServer() (address, user string, password Secret) {
	address, user, env, _ := cutLogin(j.Proxy)
	password = j.Auth.ProxyPassword
	if env != "" {
		password.Env = env
	}
	return address, cmp.Or(user, j.Auth.ProxyUser), password
}

// cutLogin splits SCHEME://USER:${NAME}@HOST:PORT. It is not ok when a password is written out.
func cutLogin(proxy string) (address, user, env string, ok bool) {
	scheme, rest, found := strings.Cut(proxy, "://")
	login, host, has := cutAt(rest)
	if !found || !has {
		return proxy, "", "", true
	}
	user, password, given := strings.Cut(login, ":")
	if name, err := url.PathUnescape(user); err == nil {
		user = name
	}
	env, isEnv := cutEnv(password)
	return scheme + "://" + host, user, env, !given || isEnv
}

// cutAt splits at the last @ before the first slash.
func cutAt(s string) (before, after string, found bool) {
	authority, _, _ := strings.Cut(s, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		return s[:at], s[at+1:], true
	}
	return "", s, false
}

// TLS is how certificates are checked.
type TLS struct {
	CAFile   string // PEM; added to the machine's roots
	Insecure bool   // accept any certificate
}

// Publish is what happens with a complete version.
type Publish struct {
	Keep string // see ParseKeep
	Dir  string // absolute path of a symlink that follows the current version; "" none

	// Grace is how long the tree of a version stays as it is after the next one was published, Trees how many
	// there are at most, the published one included.
	Grace time.Duration
	Trees int64
}

// MaxStale is how many pages of a chain without anything new limits.traps = "normal" allows.
const MaxStale = 32

// Default returns a job with all defaults for the given entry points. It is not validated yet.
func Default(urls ...string) *Job {
	j := reference().job
	j.URLs = urls
	j.Programs = WrittenPrograms{
		Suffixes: slices.Clone(j.Programs.Suffixes),
		Dirs:     slices.Clone(j.Programs.Dirs),
	}
	return &j
}

// Seeds returns the entry points in canonical form. It leaves out other URLs than web URLs; a validated job
// has none of those.
func (j *Job) Seeds() []site.URL {
	out := make([]site.URL, 0, len(j.URLs))
	for _, raw := range j.URLs {
		if u, _, err := site.Parse(raw); err == nil {
			out = append(out, u)
		}
	}
	return out
}

// Reach returns which addresses the job may connect to. URLs of the job are its entry points, its alternates
// and also more.
func (j *Job) Reach(also ...site.URL) reach.Policy {
	p := reach.Policy{All: j.Polite.AllowPrivate.All, Rules: j.Polite.AllowPrivate.Rules, File: j.File}
	for _, u := range slices.Concat(j.Seeds(), j.AlternateURLs(), also) {
		p.URLs = append(p.URLs, EndpointOf(u))
	}
	return p
}

// EndpointOf returns where a URL is requested.
func EndpointOf(u site.URL) reach.Endpoint { return reach.Endpoint{Host: u.Hostname(), Port: u.Port()} }

// Location returns the time zone of schedule and window; local is the machine's.
func (j *Job) Location(local *time.Location) (*time.Location, error) {
	if j.Timezone == "" {
		return local, nil
	}
	return time.LoadLocation(j.Timezone)
}

// ValidName reports whether s can name a job: 1 to 64 of a-z 0-9 . _ -, starting with a letter or digit,
// without "..". Such a name is also a file name on every system.
func ValidName(s string) bool {
	return site.CheckJobName(s) == nil
}

// NameFor makes a job name from a URL: its host, with what a name cannot hold replaced by '-'.
func NameFor(u site.URL) string {
	b := []byte(strings.ToLower(u.Host()))
	for i, c := range b {
		if !(('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '.' || (c == '_' && i > 0)) {
			b[i] = '-'
		}
	}
	s := strings.Trim(string(b), "-._")
	for strings.Contains(s, "..") {
		s = strings.ReplaceAll(s, "..", ".")
	}
	if s == "" {
		return "site"
	}
	return strings.Trim(s[:min(len(s), 64)], "-.")
}
