// SPDX-License-Identifier: Apache-2.0

package near

import (
	"regexp"
	"slices"
	"testing"
)

func TestExclude(t *testing.T) {
	for _, c := range []struct {
		dir               string
		rsync, wget, lftp string // "" is an error
	}{
		{"docs/old", "/docs/old/", "exclude_directories = /docs/old", "^docs/old/"},
		{"a b", "/a b/", "exclude_directories = /a b", "^a b/"},
		{"v1.0", "/v1.0/", "exclude_directories = /v1.0", `^v1\.0/`},
		{`back\slash`, `/back\slash/`, `exclude_directories = /back\slash`, `^back\\slash/`},
		{`w*\ld?[x]`, `/w\*\\ld\?\[x]/`, "", `^w\*\\ld\?\[x\]/`},
		{"c++ (old)", "/c++ (old)/", "exclude_directories = /c++ (old)", `^c\+\+ \(old\)/`},
		{"a,b", "/a,b/", "", "^a,b/"},
		{"end ", "/end /", "", "^end /"},
		{"#x", "/#x/", "exclude_directories = /#x", "^#x/"},
		{"größe", "/größe/", "exclude_directories = /größe", "^größe/"},
		{"two\nlines", "", "", ""},
		{"", "", "", ""},
	} {
		for format, want := range map[SkipFormat]string{Rsync: c.rsync, Wget: c.wget, Lftp: c.lftp, "tar": ""} {
			n := 0
			for got, err := range Exclude(format, slices.Values([]string{c.dir})) {
				n++
				if got != want || (err == nil) != (want != "") {
					t.Errorf("%s: %q is %q, %v, want %q", format, c.dir, got, err, want)
				}
			}
			if n != 1 {
				t.Errorf("%s: %q: %d lines", format, c.dir, n)
			}
		}
		if c.lftp == "" {
			continue
		}
		rx := regexp.MustCompile(c.lftp)
		for path, want := range map[string]bool{
			c.dir + "/":        true,
			c.dir + "/x/y":     true,
			c.dir:              false,
			"x/" + c.dir + "/": false,
			c.dir + "x/":       false,
		} {
			if got := rx.MatchString(path); got != want {
				t.Errorf("lftp: %s matches %q: %v, want %v", c.lftp, path, got, want)
			}
		}
	}
}
