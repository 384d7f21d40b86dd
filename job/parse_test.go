// SPDX-License-Identifier: Apache-2.0

package job

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const sambaFile = `# the example of the design
url      = "https://www.samba.org/"
schedule = "30 3 * * *"
timezone = "Europe/Berlin"
window   = "00:00-06:00"
scope    = { kind = "host", include = [], exclude = ["/ftp/**"] }
policy   = "adaptive"
[limits]
max_size = "20GB"
max_delete = "20%"
[polite]
connections = 1
delay = "1s"
[publish]
keep = "all"
dir = "/srv/www/samba"
[notify]
email = "ops@example.org"
stale_after = "7d"
`

func TestParse(t *testing.T) {
	j, err := Parse("samba", "jobs.d/samba.toml", []byte(sambaFile))
	if err != nil {
		t.Fatal(err)
	}
	if j.Name != "samba" || len(j.URLs) != 1 || j.Scope.Kind != "host" || j.Scope.Exclude[0] != "/ftp/**" ||
		j.Limits.MaxSize != 20e9 ||
		j.Limits.MaxDelete != 0.2 || j.Polite.Connections != 1 || j.Polite.Delay != time.Second ||
		j.Publish.Dir != "/srv/www/samba" ||
		j.Notify.Email[0] != "ops@example.org" || j.Notify.StaleAfter != 7*24*time.Hour || j.Limits.Retries != 3 {
		t.Errorf("parsed %+v", j)
	}
	if got := j.Seeds(); len(got) != 1 || got[0].String() != "https://www.samba.org/" {
		t.Errorf("seeds %v", got)
	}
}

func TestParseErrors(t *testing.T) {
	const ok = "url = \"https://e.org/\"\n"
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", `j.toml:1:1: no url is given; write url = "https://www.example.org/"`},
		{"near miss", ok + "\n\nshedule = \"@daily\"",
			`j.toml:4:1: unknown key "shedule"; did you mean "schedule"?`},
		{"dash for underscore", ok + "[limits]\nmax-size = 1",
			`j.toml:3:1: unknown key "max-size"; did you mean "max_size"?`},
		{"other table", ok + "[polite]\n  max_size = 1",
			`j.toml:3:3: unknown key "max_size"; max_size belongs in [limits]`},
		{"below a table", ok + "[polite]\nschedule = \"@daily\"",
			`j.toml:3:1: unknown key "schedule"; schedule stands above the first [table]`},
		{"top level", ok + "delay = \"1s\"", `j.toml:2:1: unknown key "delay"; delay belongs in [polite]`},
		{"misspelt in other table", ok + "conections = 1",
			`j.toml:2:1: unknown key "conections"; did you mean "connections" in [polite]?`},
		{"unknown table", ok + "[limit]\nmax_size = 1\nx = 1",
			`j.toml:2:2: unknown table "limit"; did you mean [limits]?`},
		{"table twice", ok + "[[limits]]\nmax_size = 1",
			`j.toml:2:3: limits is one table, not a list; write [limits] with single brackets`},
		{"table as value", ok + "limits = 3",
			`j.toml:2:1: limits is a table, not a whole number; write [limits] and its keys below`},
		{"password", ok + "[auth]\npassword = \"x\"",
			`j.toml:3:1: auth.password must not hold a secret; write "${NAME}" with the name of an environment variable, or use password_file`},
		{"type", ok + "[polite]\nconnections = \"2\"",
			`j.toml:3:1: polite.connections wants a number, not a string; write connections = 16`},
		{"range", ok + "[polite]\nconnections = 0", `j.toml:3:1: polite.connections must be between 1 and 256`},
		{"negative size", ok + "limits.max_size = -1", `j.toml:2:8: limits.max_size must not be negative`},
		{"duration without unit", ok + "[polite]\ndelay = 5",
			`j.toml:3:1: polite.delay has no unit; write "5s" for seconds`},
		{"size letter", ok + "[limits]\nmax_size = \"10M\"",
			`j.toml:3:1: "10M" is not a size; write 10MB for powers of 1000 or 10MiB for powers of 1024`},
		{"share", ok + "[limits]\nmax_delete = 30",
			`j.toml:3:1: limits.max_delete must be between 0 and 1; did you mean "30%"?`},
		{"choice", ok + `policy = "adaptve"`,
			`j.toml:2:1: policy "adaptve" is not known; did you mean "adaptive"?`},
		{"scope kind", ok + `scope = "hosts"`, `j.toml:2:1: scope.kind "hosts" is not known; did you mean "host"?`},
		{"scope in a table", ok + `scope = { kind = "host", exclud = [] }`,
			`j.toml:2:26: unknown key "exclud"; did you mean "exclude"?`},
		{"scope number", ok + `scope = 7`,
			`j.toml:2:1: scope cannot be a whole number; write scope = "host", a list of URL prefixes, or { kind = "host", exclude = ["/ftp/**"] }`},
		{"prefixes of a host", ok + `scope = { kind = "host", prefixes = ["https://e.org/a"] }`,
			`j.toml:2:26: scope of kind "host" has no prefixes; leave kind out or write kind = "prefixes"`},
		{"relative glob", ok + `scope = { exclude = ["ftp/**"] }`,
			`j.toml:2:11: glob "ftp/**" can match no path: paths start with a slash; did you mean "/ftp/**" or "**/ftp/**"?`},
		{"excluded entry point", ok + `scope = { exclude = ["/**"] }`,
			`j.toml:2:11: the entry point https://e.org/ is out of scope: excluded by "/**"`},
		{"suffix", ok + `programs.suffixes = ["cgi"]`,
			`j.toml:2:10: "cgi" is not a suffix; suffixes look like ".cgi"`},
		{"url without scheme", `url = "www.samba.org/x"`,
			`j.toml:1:1: "www.samba.org/x" is not a web URL; did you mean "https://www.samba.org/x"?`},
		{"ftp", `url = "ftp://e.org/"`,
			`j.toml:1:1: "ftp://e.org/" is not a web URL; URLs start with http:// or https://`},
		{"credentials", `url = "https://me:secret@e.org/"`,
			`j.toml:1:1: a URL must not hold a user or password; use [auth] with user and password_file or password`},
		{"credential header", ok + "[auth]\nheaders = { Authorization = \"Bearer x\" }",
			`j.toml:3:1: header "Authorization" is a credential and must not stand in a job file; write { env = "NAME" } or { file = "/path" }`},
		{"managed header", ok + "[auth.headers]\nHost = \"x\"",
			`j.toml:2:7: header "Host" is set by mirrord itself`},
		{"user without password", ok + "[auth]\nuser = \"me\"",
			`j.toml:3:1: user "me" has no password; set password_file or password`},
		{"time zone", ok + `timezone = "Europe/Berlun"`,
			`j.toml:2:1: time zone "Europe/Berlun" is not known; time zones look like "Europe/Berlin" or "UTC"`},
		{"window", ok + `window = "0-6"`,
			`j.toml:2:1: "0-6" is not a window; windows look like "00:00-06:00" or "22:00-06:00,12:00-13:00"`},
		{"keep", ok + "[publish]\nkeep = \"daly 4\"",
			`j.toml:3:1: "daly" is not a keep rule; did you mean "daily"?`},
		{"publish dir", ok + "[publish]\ndir = \"www\"",
			`j.toml:3:1: publish.dir "www" is not an absolute path; write an absolute path such as "/srv/www/samba"`},
		{"grace", ok + "[publish]\ngrace = \"60d\"",
			`j.toml:3:1: publish.grace is longer than 30 days; write "30d" or less; mirrord export copies any version that is kept`},
		{"grace without unit", ok + "[publish]\ngrace = 60",
			`j.toml:3:1: publish.grace has no unit; write "60s" for seconds`},
		{"grace in words", ok + "[publish]\ngrace = \"one hour\"",
			`j.toml:3:1: "one hour" is not a duration; durations look like "500ms", "30s", "1h30m" or "7d"`},
		{"no trees", ok + "[publish]\ntrees = 0",
			`j.toml:3:1: publish.trees must be between 1 and 100`},
		{"trees in words", ok + "[publish]\ntrees = \"two\"",
			`j.toml:3:1: publish.trees wants a number, not a string; write trees = 2`},
		{"mail", ok + "notify.email = [\"a@b.org\", \"-oQ/tmp@b\"]",
			`j.toml:2:8: "-oQ/tmp@b" is not a mail address; addresses look like "ops@example.org"`},
		{"list element", "url = [\"https://e.org/\", 3]",
			`j.toml:1:1: url wants a list of strings, and one element is a whole number; put it in quotes`},
		{"date", ok + "schedule = 2026-01-01",
			`j.toml:2:1: schedule wants a schedule, not a date or time; write schedule = "30 3 * * *"`},
		{"proxy", ok + `proxy = "http://u:p@proxy:3128"`,
			`j.toml:2:1: proxy must not hold a password; write it as ${NAME}, the name of an environment variable, or set auth.proxy_password_file`},
		{"proxy without password", ok + `proxy = "http://u@proxy:3128"`,
			`j.toml:2:1: the user "u" of the proxy has no password; write proxy = "http://USER:${NAME}@HOST:PORT", or set auth.proxy_password_file`},
		{"secret", ok + "[auth]\npasswd = \"x\"",
			`j.toml:3:1: unknown key "passwd"; secrets do not belong in a job file: use password_file, password = "${NAME}" or headers in [auth]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("j", "j.toml", []byte(tc.in))
			var es Errors
			if !errors.As(err, &es) {
				t.Fatalf("got %v, want Errors", err)
			}
			if got := err.Error(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestParseReportsEverything(t *testing.T) {
	in := "shedule = 1\nurl = 7\n[limits]\nmax_size = \"x\"\nmax_delete = 2\n[polit]\n"
	_, err := Parse("Bad Name", "j.toml", []byte(in))
	var es Errors
	if !errors.As(err, &es) || len(es) != 6 {
		t.Fatalf("got %v", err)
	}
	last := 0
	for _, e := range es {
		if e.Line < last || e.Col == 0 {
			t.Errorf("%v is out of order or has no place", e)
		}
		last = e.Line
	}
	var one Error
	if !errors.As(err, &one) || one.Line != 1 {
		t.Errorf("errors.As found %+v", one)
	}
}

func TestParseSyntaxError(t *testing.T) {
	for in, want := range map[string]string{
		"url = \"https://e.org/\"\nschedule = @daily\n": "j.toml:2:12: ",
		"url = \"https://e.org/\"\nurl = \"x\"\n":       "j.toml:2:1: ",
		"a = 1\n[limits\n":                              "j.toml:2:",
		"url = \"\xff\"":                                "j.toml:1:",
	} {
		_, err := Parse("j", "j.toml", []byte(in))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "toml: ") {
			t.Errorf("Parse(%q) = %v, want %s…", in, err, want)
		}
	}
}

func TestParseRefusesHugeFile(t *testing.T) {
	_, err := Parse("j", "j.toml", make([]byte, 10<<20))
	if err == nil || !strings.Contains(err.Error(), "at most 1048576") {
		t.Errorf("got %v", err)
	}
}

func TestParseHostileFiles(t *testing.T) {
	for name, in := range map[string]string{
		"deep key":         strings.Repeat("a.", 100_000) + "a = 1",
		"deep inline":      strings.Repeat("a={", 9_000) + strings.Repeat("}", 9_000),
		"deep list":        "url = " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"too deep list":    "url = " + strings.Repeat("[", 200_000),
		"many keys":        manyKeys(3_000),
		"control in table": "[\"limits\\u0000\"]\nx=1",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("j", "j.toml", []byte(in))
			var es Errors
			if !errors.As(err, &es) || len(es) > maxErrors+1 {
				t.Errorf("got %d errors", len(es))
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k")
		for d := i; d > 0; d /= 26 {
			b.WriteByte(byte('a' + d%26))
		}
		b.WriteString("x = 1\n")
	}
	return b.String()
}

// Keys that earlier versions knew do not make a file invalid: the mirror continues, and check says what to
// do.
func TestRemovedKeys(t *testing.T) {
	const file = "url = \"https://www.example.org/\"\n[near]\nexpire = 4\nzero = \"strict\"\naudits = \"many\"\n"
	j, err := Parse("j", "j.toml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if j.Near.Expire != 4 || len(j.Warnings) != 2 {
		t.Fatalf("expire %d, ignored %v", j.Near.Expire, j.Warnings)
	}
	for i, want := range []struct {
		key  string
		line int
	}{{"near.audits", 5}, {"near.zero", 4}} {
		if got := j.Warnings[i]; got.Key != want.key || got.Line != want.line ||
			!strings.Contains(got.Msg, "ignored") {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
