// SPDX-License-Identifier: Apache-2.0

package jobs_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/app/jobs"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/testing/apptest"
)

// mistake is what people write into job files. Every text is refused at a line, with a cause and a hint, or
// accepted with a warning that has them.
type mistake struct {
	name, text string
	line       int
	cause      string // a part of it
	hint       string // a part of it
}

func mistakes() []mistake {
	const ok = "url = \"https://e.org/\"\n"
	return []mistake{
		{"empty", "", 1, "no url", "write url ="},
		{"utf16", "\xff\xfeu\x00r\x00", 1, "UTF-16", "UTF-8"},
		{"latin1", ok + "title = \"M\xfcller\"", 2,
			"0xFC is not UTF-8", "save the file"},
		{"nul", ok + "title = \"a\x00b\"", 2, "U+0000", "remove it"},
		{"lonereturn", ok + "title = \"x\"\rrepair = true", 2,
			"carriage return", "line ends"},
		{"windows", "url = \"https://e.org/\"\r\nshedule = \"@daily\"\r\n", 2,
			"shedule", `"schedule"`},
		{"bom", "\ufeff" + ok + "shedule = \"@daily\"", 2,
			"shedule", `"schedule"`},
		{"tabs", "\turl\t=\t\"https://e.org/\"\n\tdelay = \"1s\"", 2,
			"delay", "[polite]"},
		{"huge", strings.Repeat("# no job\n", job.MaxFile/8), 0,
			"bytes", "at most"},
		{"noquotes", "url = https://e.org/", 1,
			"start of value", "quotes"},
		{"curly", ok + "title = “x”", 2,
			"U+201C '“' at start of value", "straight quotes"},
		{"unclosed", ok + "title = \"x\nrepair = true", 2,
			"new lines", "closing quote"},
		{"quoteinside", ok + "title = 'it's'", 2,
			"newline", "second quote"},
		{"backslash", ok + "publish.dir = \"C:\\www\"", 2,
			"escape", "single quotes"},
		{"colon", "url: https://e.org/", 1,
			"'='", "write = for the colon"},
		{"semicolon", ok + "; a comment", 2,
			"start of key", "begins with #"},
		{"slashes", ok + "// a comment", 2,
			"start of key", "begins with #"},
		{"json", "{\"url\": \"https://e.org/\"}", 1,
			"start of key", "KEY = VALUE"},
		{"noequals", ok + "schedule \"@daily\"", 2,
			"'='", "KEY = VALUE"},
		{"novalue", ok + "schedule =\n", 2,
			"start of value", "is missing"},
		{"yes", ok + "repair = yes", 2,
			"start of value", "write true"},
		{"boolquoted", ok + "repair = \"true\"", 2,
			"wants true or false", "repair = true"},
		{"keytwice", ok + "title = \"a\"\ntitle = \"b\"", 3,
			"already", "line 2"},
		{"tabletwice", ok + "[limits]\nmax_size = 1\n[polite]\n[limits]\n", 5,
			"already", "line 2"},
		{"scopetwice", ok + "scope = \"host\"\n[scope]\n", 3,
			"table", "line 2"},
		{"tableopen", ok + "[limits\n", 2, "']'", "[limits]"},
		{"listopen", "url = [\"https://e.org/\"\nrepair = true", 2,
			"array", "comma"},
		{"arraytable", ok + "[[limits]]\nmax_size = 1", 2,
			"not a list", "single brackets"},
		{"jobtable", "[job]\nurl = \"https://e.org/\"", 1,
			`table "job"`, "above the first [table]"},
		{"unknown", ok + "[polite]\nconections = 1", 3,
			"conections", `"connections"`},
		{"password", ok + "[auth]\npassword = \"x\"", 3,
			"password", "password_file"},
		{"float", ok + "[polite]\nconnections = 1.5", 3,
			"whole number", "write"},
		{"leadingzero", ok + "[polite]\nconnections = 08", 3,
			"zero", "remove"},
		{"percent", ok + "[limits]\nmax_delete = 30", 3,
			"between 0 and 1", `"30%"`},
		{"unitbare", ok + "[limits]\nmax_size = 10MB", 3,
			"quoted", "quotes"},
		{"sizeword", ok + "[limits]\nmax_size = \"10 megabytes\"", 3,
			"not a size", `"10MB"`},
		{"sizelower", ok + "[limits]\nmax_size = \"10mb\"", 3,
			"not a size", `"10MB"`},
		{"seconds", ok + "[polite]\ndelay = \"5 seconds\"", 3,
			"not a duration", `"5s"`},
		{"nounit", ok + "[polite]\ndelay = 5", 3, "no unit", `"5s"`},
		{"month", ok + "[notify]\nstale_after = \"1 month\"", 3,
			"not a duration", `"30d"`},
		{"bits", ok + "[polite]\nbandwidth = \"2mbit/s\"", 3,
			"not a rate", `"250kB/s"`},
		{"daily", ok + "schedule = \"daily\"", 2,
			"1 field", `"@daily"`},
		{"everyinterval", ok + "schedule = \"every 6 hours\"", 2,
			"3 fields", `"@every 6h"`},
		{"sixfields", ok + "schedule = \"0 30 3 * * *\"", 2,
			"6 fields", `"30 3 * * *"`},
		{"never", ok + "schedule = \"never\"", 2,
			"1 field", "leave schedule out"},
		{"minute60", ok + "schedule = \"60 3 * * *\"", 2,
			"60", "minutes are 0-59"},
		{"february30", ok + "schedule = \"0 0 30 2 *\"", 2,
			"never fires", "no such day"},
		{"window", ok + "window = \"10pm-6am\"", 2,
			"not a window", "22:00-06:00"},
		{"zone", ok + "timezone = \"CET+1\"", 2,
			"not known", "Europe/Berlin"},
		{"noscheme", "url = \"www.e.org\"", 1,
			"not a web URL", `"https://www.e.org"`},
		{"twourls", "url = \"https://e.org/ https://f.org/\"", 1,
			"more than one URL", "write a list"},
		{"filetype", ok + "[scope]\ntypes = [\"pdf\", \"pictures\"]", 3,
			"no file type", "image/*"},
		{"typemistyped", ok + "scope.not_types = \"movie\"", 2,
			"no file type", `"movies"`},
		{"typeglob", ok + "scope.types = \"*.pdf\"", 2,
			"no file type", `"pdf"`},
		{"typeregexp", ok + "scope.not_types = ['\\.iso$']", 2,
			"no file type", "scope.exclude"},
		{"anytype", ok + "scope.types = \"*/*\"", 2,
			"no file type", "leave the key out"},
		{"typenumber", ok + "scope.types = 5", 2,
			"a list of file types", "types ="},
		{"authors", ok + "authors = [\"Ada\", \"\"]", 2,
			"is no author", "authors ="},
		{"copyrightlines", ok + "copyright = \"a\\nb\"", 2,
			"one line", ""},
		{"aliasurl", ok + "scope.aliases = [\"https://www.e.org/\"]", 2,
			"is no host", `"www.e.org"`},
		{"aliasself", ok + "scope.aliases = \"e.org\"", 2,
			"is the host of the entry point", "name the other host in url"},
		{"priorityone", ok + "[priority]\nmatch = \"/news/**\"", 2,
			"single brackets", "[[priority]]"},
		{"prioritykey", ok + "[[priority]]\nmatch = \"/a\"\n[[priority]]\nmach = \"/news/**\"", 5,
			"unknown key", `"match"`},
		{"priorityglob", ok + "[[priority]]\nmatch = [\"^/news/.*\"]", 3,
			"regular expression", "** any path"},
		{"priorityempty", ok + "[[priority]]\nevery = 2", 2,
			"matches nothing", "match ="},
		{"priorityzero", ok + "[[priority]]\nmatch = \"/a\"\nevery = 0", 4,
			"between 1 and", ""},
		{"priorities", ok + "[[priorities]]\nmatch = \"/a\"", 2,
			"unknown", `priority`},
		{"regexp", ok + "[scope]\nexclude = [\"^/ftp/.*\"]", 3,
			"regular expression", "** any path"},
		{"tilde", ok + "[publish]\ndir = \"~/www\"", 3,
			"not an absolute path", "write"},
		{"mail", ok + "[notify]\nemail = \"Ops <ops@e.org>\"", 3,
			"not a mail address", "look like"},
		{"conflict", "<<<<<<< HEAD\n" + ok + "=======\n", 1,
			"start of key", "a merge left both sides"},
		{"slashesbehind", ok + "schedule = \"@daily\" // at night", 2,
			"expected newline", "begins with #"},
		{"twokeys", ok + "schedule = \"@daily\", title = \"x\"", 2,
			"expected newline", "a line of its own"},
		{"null", ok + "title = null", 2,
			"expected keyword", "leave the key out"},
		{"infinite", ok + "[polite]\nfactor = inf", 3,
			"wants a number, not +Inf", "factor = 5.0"},
		{"weekday", ok + "schedule = \"0 3 * * mon-fr\"", 2,
			`"fr" is neither a number nor a name`, "SUN-SAT"},
		{"timeofday", ok + "schedule = 03:30:00", 2,
			"not a date or time", `"30 3 * * *"`},
		{"port", "url = \"https://e.org:99999/\"", 1,
			`"99999" is no port`, "1 to 65535"},
		{"placeholder", "url = \"https://<host>/\"", 1,
			`"<host>" is no host`, "name of the host"},
		{"ftp", "url = \"ftp://e.org/\"", 1,
			"not a web URL", "https://"},
		{"credentials", "url = \"https://me:pw@e.org/\"", 1,
			"must not hold", "[auth]"},
		{"range33", ok + "polite.allow_private = \"10.0.0.0/33\"", 2,
			"polite.allow_private: \"10.0.0.0/33\" is not a range", "look like"},
		{"nouser", ok + "[auth]\npassword_file = \"/etc/secret\"", 2,
			"no user", "user ="},
		{"intervals", ok + "schedule = \"continuous\"\nmin_interval = \"1d\"\nmax_interval = \"1h\"", 4,
			"shorter than min_interval", `max_interval = "1d" or more`},
		{"listofnumbers", ok + "scope.exclude = [1]", 2,
			"one element is a whole number", "in quotes"},
		{"shellhook", ok + "hooks.published = \"notify.sh arg\"", 2,
			"a line of the shell", "write a list"},
		{"capital", "URL = \"https://e.org/\"", 1,
			"URL", `"url"`},
		{"hyphen", ok + "limits.max-size = \"1MB\"", 2,
			"max-size", `"max_size"`},
		{"minus", ok + "publish.keep = \"-1\"", 2,
			"not a number of versions", "keep looks like"},
		{"dollar", ok + "[auth]\nuser = \"me\"\npassword = \"$PASS\"", 4,
			"must not hold a secret", "${NAME}"},
	}
}

// doubts are valid and probably not meant.
func doubts() []mistake {
	const ok = "url = \"https://e.org/\"\n"
	return []mistake{
		{"regexpname", ok + "[scope]\nexclude = ['\\.iso$']", 3,
			"regular expression", "** any path"},
		{"regexpdir", ok + "[scope]\nexclude = [\"/ftp/.*\"]", 3,
			"regular expression", "** any path"},
		{"onepage", ok + "[scope]\nexclude = [\"/ftp/\"]", 3,
			"one page", `"/ftp/**"`},
		{"commas", ok + "[scope]\nexclude = \"/a/**, /b/**\"", 3,
			"one glob", `["/a/**", "/b/**"]`},
		{"urlglob", "url = \"https://e.org/docs/*\"", 1,
			"part of the address", "[scope]"},
		{"homefile", ok + "[auth]\nuser = \"me\"\npassword_file = \"$HOME/pw\"", 4,
			"no shell reads", "absolute path"},
		{"outside", ok + "schedule = \"30 12 * * *\"\nwindow = \"22:00-06:00\"", 2,
			"outside of window", "waits until 22:00"},
	}
}

func textOf(f jobs.CheckedFile) string { return f.Text() }

// Each mistake is reported with line, cause and hint, in the same words by check of the directory, by check
// of the file and by the daemon.
func TestMistakesAreSaidAlike(t *testing.T) {
	dir := t.TempDir()
	a := apptest.BareApp(dir, t.TempDir())
	for _, m := range append(mistakes(), doubts()...) {
		apptest.Put(t, dir, m.name+scheduler.Suffix, m.text)
	}
	files, err := scheduler.NewDir(dir).Read()
	if err != nil {
		t.Fatal(err)
	}
	said, alone := map[string]jobs.CheckedFile{}, map[string]jobs.CheckedFile{}
	all, err := jobs.Check(t.Context(), a, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all.Files {
		said[filepath.Base(f.File)] = f
	}
	empty := apptest.BareApp(filepath.Join(dir, "none"), t.TempDir())
	for _, f := range files {
		one, err := jobs.Check(t.Context(), empty, []string{f.Path}, false)
		if err != nil {
			t.Fatal(err)
		}
		alone[filepath.Base(f.Path)] = one.Files[0]
	}
	// Jobs of one URL would refuse one another, which this does not test.
	daemon := func(f scheduler.File) string {
		return strings.Join(scheduler.Resolve([]scheduler.File{f}, nil)[f.Name].Refused, "\n")
	}
	for _, m := range mistakes() {
		base := m.name + scheduler.Suffix
		path := filepath.Join(dir, base)
		where := fmt.Sprintf("%s:%d:", path, m.line)
		if m.line == 0 {
			where = path + ": "
		}
		got := textOf(alone[base])
		m.wants(t, got, where)
		i := slices.IndexFunc(files, func(f scheduler.File) bool { return f.Name == m.name })
		if want := daemon(files[i]); got != want {
			t.Errorf("%s: check says\n%s\nthe daemon says\n%s", m.name, got, want)
		}
		if dir := textOf(said[base]); dir != got {
			t.Errorf("%s: check of the directory says\n%s\nof the file\n%s", m.name, dir, got)
		}
	}
	for _, m := range doubts() {
		f := alone[m.name+scheduler.Suffix]
		if !f.OK {
			t.Errorf("%s: refused: %v", m.name, f.Err)
		}
		m.wants(t, strings.Join(f.Warnings, "\n"), fmt.Sprintf("line %d: ", m.line))
	}
}

func (m mistake) wants(t *testing.T, got, where string) {
	t.Helper()
	for _, want := range []string{where, m.cause, m.hint} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q is not said:\n%s", m.name, want, got)
		}
	}
}
