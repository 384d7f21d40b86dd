// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"testing"
)

func TestMachineKeys(t *testing.T) {
	base := "url = \"https://a.example/\"\n"
	was, err := Parse("a", "a.toml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		base + "title = \"x\"\nschedule = \"@daily\"\n[limits]\nmax_depth = 3\n": nil,
		base + "[hooks]\nafter = \"/bin/sh\"\n":                                  {"hooks.after"},
		base + "[notify]\ncommand = \"id\"\n":                                    {"notify.command"},
		base + "[notify]\nemail = [\"a@a.example\"]\n":                           nil,
		base + "[auth.headers]\nX = { file = \"/etc/shadow\" }\n":                {"auth.headers"},
		base + "[tls]\ninsecure = true\n":                                        {"tls.insecure"},
		base + "[publish]\ndir = \"/srv/www\"\nkeep = \"all\"\n":                 {"publish.dir"},
		base + "alternates = [\"http://localhost:80/\"]\n":                       {"alternates"},
		"url = \"http://10.0.0.7/\"\n":                                           {"url"},
		"url = [\"https://a.example/\", \"http://intranet/\"]\n":                 {"url"},
		"url = \"https://b.example/\"\n":                                         nil,
		base + "[polite]\nallow_private = true\n":                                {"polite.allow_private"},
		base + "proxy = \"http://proxy.example:3128\"\n":                         {"proxy"},
	} {
		j, err := Parse("a", "a.toml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := MachineKeys(was, j); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	secret := "[auth]\nuser = \"u\"\npassword = \"${P}\"\n"
	if was, err = Parse("a", "a.toml", []byte(base+secret)); err != nil {
		t.Fatal(err)
	}
	for urls, want := range map[string][]string{
		`"https://a.example/", "https://a.example/b/"`: nil,
		`"https://a.example/", "http://a.example/"`:    {"url"},
		`"https://b.example/"`:                         {"url"},
	} {
		j, err := Parse("a", "a.toml", []byte("url = ["+urls+"]\n"+secret))
		if err != nil {
			t.Fatal(err)
		}
		if got := MachineKeys(was, j); !slices.Equal(got, want) {
			t.Errorf("with secrets, %s: %v, want %v", urls, got, want)
		}
	}
	for _, k := range Keys() {
		if k.Type == "path" && !k.ofMachine() {
			t.Errorf("%s names a file", k.Name)
		}
	}
}
