// SPDX-License-Identifier: Apache-2.0

package job

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// flat returns the keys of a job file with their values, by full name.
func flat(t *testing.T, text []byte) map[string]any {
	t.Helper()
	doc := map[string]any{}
	if err := toml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for name, v := range doc {
		sub, table := v.(map[string]any)
		if !table {
			out[name] = v
		}
		for leaf, v := range sub {
			out[name+"."+leaf] = v
		}
	}
	return out
}

// A job file that was valid at 7f94b91d is valid, and each of its keys has the effect that it had. Each old
// key is named in a warning. The fixtures have every key of that version, none at its default.
func TestEveryKeyKeepsItsEffect(t *testing.T) {
	set := map[string]bool{}
	for _, name := range []string{"one", "two"} {
		text, err := os.ReadFile("testdata/everykey/" + name + ".toml")
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/everykey/" + name + ".want")
		if err != nil {
			t.Fatal(err)
		}
		j, err := Parse(name, name+".toml", text)
		if err != nil {
			t.Fatal(err)
		}
		var warned []string
		for _, w := range j.Warnings {
			warned = append(warned, w.Key)
		}
		given, wanted := flat(t, text), flat(t, want)
		for key := range given {
			set[key] = true
			old := slices.ContainsFunc(oldKeys(), func(k Key) bool { return k.Name == key })
			if old != slices.Contains(warned, key) {
				t.Errorf("%s: old %t, warnings %q", key, old, warned)
			}
		}
		for _, k := range everyKey() {
			v, had := wanted[k.Name]
			if !had {
				continue
			}
			was := Default()
			set := &parser{job: was, bad: map[string]bool{}}
			if k.Name == "priority" {
				set.priority(v)
			} else if err := set.assign(k, v); err != nil {
				t.Fatal(err)
			}
			if got, want := encode(k.of(j)), encode(k.of(was)); got != want {
				t.Errorf("%s.toml: %s is %s, want %s", name, k.Name, got, want)
			}
			if _, is := given[k.Name]; is && encode(k.of(was)) == encode(k.of(Default())) {
				t.Errorf("%s.toml: %s is at its default", name, k.Name)
			}
			delete(wanted, k.Name)
		}
		if len(wanted) > 0 {
			t.Errorf("unknown: %v", wanted)
		}
	}
	if len(set) != 112 {
		t.Errorf("the files set %d keys, want the 112 of 7f94b91d", len(set))
	}
}

// What replaces old keys does what they did.
func TestKeysInsteadOfOldOnes(t *testing.T) {
	for name, tc := range map[string][2]string{
		"no traps": {
			"[limits]\nmax_repeats = 0\nmax_stale = 0\nmax_url_length = 32000\n", "limits.traps = \"off\"\n",
		},
		"an old key wins": {"[limits]\nmax_repeats = 7\nmax_stale = 16\nmax_url_length = 1024\n",
			"limits.max_repeats = 7\nlimits.traps = \"strict\"\n"},
		"timeout": {"[polite]\nconnect_timeout = \"40s\"\nheader_timeout = \"2m\"\nidle_timeout = \"2m\"\n",
			"polite.timeout = \"2m\"\n"},
		"password": {"[auth]\nuser = \"me\"\npassword_env = \"P\"\n",
			"[auth]\nuser = \"me\"\npassword = \"${P}\"\n"},
		"header": {"[auth]\nheaders = { Authorization = { env = \"P\" }, X-A = \"${P}\" }\n",
			"[auth]\nheaders = { Authorization = \"${P}\", X-A = \"${P}\" }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var texts [2]string
			for i, text := range tc {
				j, err := Parse("j", "j.toml", []byte("url = \"https://e.org/\"\n"+text))
				if err != nil {
					t.Fatal(err)
				}
				j.Limits.Traps = ""
				texts[i] = string(j.Effective())
			}
			if texts[0] != texts[1] {
				t.Errorf("got %s\nwant %s", texts[1], texts[0])
			}
		})
	}
}

// A proxy's login is the same from its URL and from old keys.
func TestProxyServer(t *testing.T) {
	env := Secret{Env: "P"}
	for text, want := range map[string]struct {
		address, user string
		password      Secret
	}{
		`proxy = "http://p.example:1"`:                {"http://p.example:1", "", Secret{}},
		`proxy = "http://me:${P}@p.example:1"`:        {"http://p.example:1", "me", env},
		`proxy = "http://me%40home:${P}@p.example:1"`: {"http://p.example:1", "me@home", env},
		"proxy = \"socks5://me@p.example:1\"\nauth.proxy_password_file = \"/f\"": {
			"socks5://p.example:1", "me", Secret{File: "/f"},
		},
		"proxy = \"http://p.example:1\"\nauth.proxy_user = \"me\"\nauth.proxy_password_env = \"P\"": {
			"http://p.example:1", "me", env,
		},
	} {
		j, err := Parse("j", "j.toml", []byte("url = \"https://e.org/\"\n"+text+"\n"))
		if err != nil {
			t.Error(err)
			continue
		}
		address, user, password := j.ProxyServer()
		if address != want.address || user != want.user || password != want.password {
			t.Errorf("%s: got %q, %q, %+v", text, address, user, password)
		}
	}
}

// A warning of an old key says what to do: write another one, or nothing.
func TestOldKeyWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"limits.max_repeats = 5": `limits.max_repeats is an old key; it stays in force; write limits.traps = "strict", "normal" or "off"`,
		"limits.max_repeats = 3": "limits.max_repeats is an old key at its default; " + notNeeded,
		"publish.trees = 2":      "publish.trees is an old key; it stays in force; " + notNeeded,
	} {
		j, err := Parse("j", "j.toml", []byte("url = \"https://e.org/\"\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Warnings) != 1 || !strings.HasSuffix(j.Warnings[0].Error(), ": "+want) || j.Warnings[0].Line != 2 {
			t.Errorf("got  %v\nwant %s", j.Warnings, want)
		}
		if strings.Contains(string(Default("https://e.org/").Effective()), strings.Split(text, " ")[0][7:]) {
			t.Errorf("%s is in the effective configuration of a job without it", text)
		}
	}
}
