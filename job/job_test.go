// SPDX-License-Identifier: Apache-2.0

package job

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/site"
)

func TestDefaultIsValid(t *testing.T) {
	if err := Default("https://www.example.org/").Validate(); err != nil {
		t.Error(err)
	}
	if err := Default().Validate(); err == nil {
		t.Error("a job without url is valid")
	}
}

// The default of every key, written as the reference shows it, is accepted and is the default; so is every
// example.
func TestKeysDefaultsAndExamples(t *testing.T) {
	def := Default("https://www.example.org/")
	seen := map[string]bool{}
	for _, k := range Keys() {
		if seen[k.Name] {
			t.Errorf("key %s is there twice", k.Name)
		}
		seen[k.Name] = true
		if k.Doc == "" || k.Type == "" || k.Example == "" {
			t.Errorf("key %s lacks its doc, type or example", k.Name)
		}
		j := Default("https://www.example.org/")
		if d := k.Default(); d != "" && k.Name != "scope.prefixes" && k.Name != "notify.webhook" {
			if err := j.Set(k.Name, d); err != nil {
				t.Errorf("default of %s: %v", k.Name, err)
			}
		}
		if !reflect.DeepEqual(j, def) {
			t.Errorf("default of %s is not the default: %s", k.Name, k.Default())
		}
		before := encode(k.of(j))
		if err := j.Set(k.Name, k.Example); err != nil {
			t.Errorf("example of %s: %v", k.Name, err)
		}
		if after := encode(k.of(j)); after == before {
			t.Errorf("example of %s changes nothing", k.Name)
		}
	}
}

// Every field of Job has a key: nothing can be set that is not documented, and nothing is documented that has
// no field.
func TestEveryFieldHasAKey(t *testing.T) {
	j := Default()
	whole, have := map[any]bool{}, map[any]bool{}
	for _, k := range everyKey() {
		whole[k.of(j)] = true
		have[reflect.ValueOf(k.of(j)).Pointer()] = true
	}
	none := []string{
		"Job.Name", "Job.File", "Job.Warnings", "Job.Only", "Job.All", "Job.Insist", "Job.Profiles",
		"Job.Auth.Password.Value", "Job.Auth.ProxyPassword.Value", // these are never written out
	}
	var walk func(name string, v reflect.Value)
	walk = func(name string, v reflect.Value) {
		switch {
		case whole[v.Addr().Interface()]:
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				walk(name+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case !have[v.Addr().Pointer()] && !slices.Contains(none, name):
			t.Errorf("field %s has no key", name)
		}
	}
	walk("Job", reflect.ValueOf(j).Elem())
}

func TestEffectiveRoundTrip(t *testing.T) {
	for _, in := range []string{
		sambaFile,
		"url = [\"https://a.example/\", \"http://b.example/x/\"]\nscope = " +
			"[\"https://a.example/p\"]\nprograms.suffixes = []\n",
		"url = \"https://a.example/\"\n[auth]\nuser = \"é \\\"\\\\\"\npassword_env = \"P\"\nheaders = { X-A = " +
			"\"1\", Authorization = { file = \"/x\" } }\n[notify]\nwebhook = { env = \"W\" }\n",
		"url = \"https://a.example/\"\nproxy = \"http://me:${P}@proxy:3128\"\nlimits.traps = \"strict\"\n" +
			"limits.max_stale = 5\npolite.timeout = \"2m\"\npolite.idle_timeout = \"1m\"\nauth.user = \"u\"\n" +
			"auth.password = \"${Q}\"\npublish.trees = 2\n",
		"url = \"https://a.example/\"\npolite.factor = 2.5\npolite.bandwidth = \"1.5MiB/s\"\nlimits.max_delete " +
			"= 0.123456789\n",
	} {
		want, err := Parse("j", "j.toml", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"effective": want.Effective(), "marshal": want.Marshal()} {
			got, err := Parse("j", "j.toml", text)
			if err != nil {
				t.Errorf("%s of %q: %v\n%s", name, in, err, text)
				continue
			}
			got.Warnings, want.Warnings = nil, nil // of old keys, which stand in other lines
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %q gives\n%+v\nwant\n%+v\n%s", name, in, got, want, text)
			}
		}
	}
}

func TestMarshalIsShort(t *testing.T) {
	j := Default("https://e.org/")
	if got, want := string(j.Marshal()), "url = [\"https://e.org/\"]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSet(t *testing.T) {
	j := Default("https://e.org/")
	for _, kv := range [][2]string{
		{"polite.connections", "16"}, {"polite.delay", "0s"}, {"scope", "host"},
		{"scope.exclude", `["/a/**", "/b"]`}, {"scope.include", "/c/*"},
		{"limits.max_delete", "30%"}, {"obey_robots", "false"}, {"publish.keep", "7"},
		{"polite.user_agent", "my bot/1.0"}, {"auth.headers.X-Test", "1 2"},
		{"auth.headers.Authorization", `{ env = "T" }`}, {"url", "https://f.org/x#y"}, {"limits.max_size", "10MB"},
		{"notify.webhook", "https://h.org/"},
	} {
		if err := j.Set(kv[0], kv[1]); err != nil {
			t.Errorf("Set(%q, %q): %v", kv[0], kv[1], err)
		}
	}
	if err := j.Validate(); err != nil {
		t.Fatal(err)
	}
	if j.Polite.Connections != 16 || j.Polite.Delay != 0 || j.Scope.Kind != "host" ||
		len(j.Scope.Exclude) != 2 || j.Scope.Include[0] != "/c/*" || j.Limits.MaxDelete != 0.3 ||
		j.ObeyRobots || j.Publish.Keep != "7" || j.Polite.UserAgent != "my bot/1.0" ||
		j.Auth.Headers["Authorization"].Env != "T" ||
		j.Auth.Headers["X-Test"].Value != "1 2" || j.URLs[0] != "https://f.org/x#y" || j.Limits.MaxSize != 10e6 ||
		j.Notify.Webhook.Value != "https://h.org/" {
		t.Errorf("got %+v", j)
	}
	if err := j.Set("scope", `["https://f.org/x/"]`); err != nil || j.Scope.Kind != "prefixes" {
		t.Errorf("scope by prefixes: %v, kind %q", err, j.Scope.Kind)
	}
	for _, tc := range []struct{ key, value, want string }{
		{"polite.conections", "1", `set: unknown key "conections"; did you mean "connections"?`},
		{"delay", "1s", `set: unknown key "delay"; delay belongs in [polite]`},
		{"polite.delay", "5", `set: polite.delay has no unit; write "5s" for seconds`},
		{"", "x", `set: unknown key ""`},
		{"polite", "x", `set: unknown key "polite"; did you mean [polite]?`},
		{"auth.headers.X", "{}",
			`set: auth.headers.X is neither a text nor a place to read it from; write a text, "${NAME}", { env = "NAME" } or { file = "/path" }`},
	} {
		err := j.Set(tc.key, tc.value)
		var es Errors
		if !errors.As(err, &es) || err.Error() != tc.want {
			t.Errorf("Set(%q, %q) = %v, want %s", tc.key, tc.value, err, tc.want)
		}
	}
}

func TestValidName(t *testing.T) {
	for _, s := range []string{"samba", "a", "0", "docs.example.org", "a_b-c.d", strings.Repeat("x", 64)} {
		if !ValidName(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{
		"", ".", "..", "a..b", "-a", "_a", "A", "a/b", "a b", "ä", "a\x00", strings.Repeat("x", 65),
	} {
		if ValidName(s) {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestNameFor(t *testing.T) {
	for raw, want := range map[string]string{
		"https://www.samba.org/": "www.samba.org", "http://127.0.0.1:8080/x": "127.0.0.1-8080",
		"http://[::1]:80/": "1", "http://[::]/": "site",
		"https://" + strings.Repeat("a", 60) + ".example.org/": strings.Repeat("a", 60) + ".exa",
		"https://_x.example/": "x.example", "https://-_x.example/": "x.example",
	} {
		u, _, err := site.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		got := NameFor(u)
		if got != want || !ValidName(got) {
			t.Errorf("NameFor(%s) = %q, want %q", raw, got, want)
		}
	}
}

func TestSecretResolve(t *testing.T) {
	getenv := func(k string) (string, bool) {
		return map[string]string{"SET": "v", "EMPTY": ""}[k], k == "SET" || k == "EMPTY"
	}
	readFile := func(name string) ([]byte, error) {
		switch name {
		case "/ok":
			return []byte("pw with blank \r\n"), nil
		case "/empty":
			return []byte("\n"), nil
		}
		return nil, os.ErrNotExist
	}
	for _, tc := range []struct {
		s    Secret
		want string
		ok   bool
	}{
		{
			Secret{Env: "SET"}, "v", true,
		}, {Secret{File: "/ok"}, "pw with blank ", true}, {Secret{Value: "x"}, "x", true}, {Secret{}, "", true},
		{Secret{Env: "EMPTY"}, "", false}, {Secret{Env: "UNSET"}, "", false}, {Secret{File: "/empty"}, "", false},
		{Secret{File: "/gone"}, "", false},
	} {
		got, err := tc.s.Resolve(getenv, readFile)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%v resolves to %q, %v", tc.s, got, err)
		}
		if strings.Contains(tc.s.String(), "pw with") {
			t.Errorf("String shows a secret: %s", tc.s)
		}
	}
}

func TestLocation(t *testing.T) {
	j := Default("https://e.org/")
	if loc, err := j.Location(time.UTC); err != nil || loc != time.UTC {
		t.Errorf("got %v, %v", loc, err)
	}
	j.Timezone = "Europe/Berlin"
	if loc, err := j.Location(time.UTC); err != nil || loc.String() != "Europe/Berlin" {
		t.Errorf("got %v, %v", loc, err)
	}
}

func TestProductToken(t *testing.T) {
	for ua, want := range map[string]string{
		"mirrord":          "mirrord",
		"mirrord/1.0 (+x)": "mirrord",
		"My_Bot-x y":       "My_Bot-x",
		"1x":               "",
		"":                 "",
	} {
		if got := ProductToken(ua); got != want {
			t.Errorf("ProductToken(%q) = %q, want %q", ua, got, want)
		}
	}
}

// FuzzParse holds: no input panics; errors have a place in the file; accepted values survive being
// written and read.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sambaFile))
	f.Add(
		[]byte("url = \"https://e.org/\"\n[auth]\nheaders = { X = { env = \"A\" } }\n[polite]\nfactor = 1e3\n"))
	f.Add([]byte("url = ['https://e.org/']\nscope = { prefixes = ['https://e.org/'] " +
		"}\nwindow='22:00-06:00'\npublish.keep='within 1.5d'\n"))
	f.Add([]byte("[[limits]]\n[scope.x]\n\"a.b\".c = 1\nurl = { a = [ { b = 1 } ] }\nschedule = '@every 1h'\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := Parse("j", "j.toml", data)
		if err != nil {
			var es Errors
			if !errors.As(err, &es) || len(es) == 0 {
				t.Fatalf("error %T is not Errors", err)
			}
			for _, e := range es {
				if e.Line < 1 || e.Col < 1 || e.Msg == "" {
					t.Fatalf("error without place or message: %+v", e)
				}
			}
			return
		}
		text := j.Effective()
		k, err := Parse("j", "j.toml", text)
		if err != nil {
			t.Fatalf("effective configuration is refused: %v\n%s", err, text)
		}
		if again := k.Effective(); string(again) != string(text) {
			t.Fatalf("effective configuration changes when read:\n%s\n%s", text, again)
		}
		if k, err = Parse("j", "j.toml", j.Marshal()); err != nil || string(k.Effective()) != string(text) {
			t.Fatalf("marshalled job differs: %v\n%s", err, j.Marshal())
		}
	})
}

// FuzzSet holds: no key or value panics, and a refused value changes nothing.
func FuzzSet(f *testing.F) {
	f.Add("polite.delay", "1s")
	f.Add("scope", "[\"https://e.org/\"]")
	f.Add("auth.headers.X", "{ env = \"A\" }")
	f.Fuzz(func(t *testing.T, key, value string) {
		j := Default("https://e.org/")
		before := string(j.Effective())
		if err := j.Set(key, value); err != nil && string(j.Effective()) != before &&
			!strings.HasPrefix(key, "scope") {
			t.Fatalf("refused %s=%s changed the job", key, value)
		}
	})
}
