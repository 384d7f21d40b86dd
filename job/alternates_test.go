// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"testing"
)

func TestAlternatesAndReuse(t *testing.T) {
	const url = "url = \"https://www.example.org/docs/index.html\"\n"
	for _, c := range []struct{ text, want string }{
		{`alternates = ["https://mirror.example.net/pub/docs/", "http://192.0.2.1:8080/"]`, ""},
		{`alternates = ["https://mirror.example.net/pub/docs"]`, "is no directory"},
		{`alternates = ["https://mirror.example.net/docs/?x=1"]`, "is no directory"},
		{`alternates = ["https://mirror.example.net/docs/#top"]`, "is no directory"},
		{`alternates = ["https://www.example.org/other/"]`, "is on a host of url"},
		{`alternates = ["ftp://mirror.example.net/docs/"]`, "ftp"},
		{`alternates = [` + strings.Repeat(`"https://m.example.net/",`, 21) + `]`, "at most 20"},
		{"[reuse]\njob = \"manual\"\nfrom = \"https://www.example.com/manual/\"", ""},
		{"[reuse]\njob = \"manual\"", "needs reuse.from"},
		{"[reuse]\njob = \"../manual\"\nfrom = \"https://www.example.com/\"", "cannot name a job"},
		{"[reuse]\njob = \"self\"\nfrom = \"https://www.example.com/\"", "its own mirror"},
		{"[reuse]\njob = \"manual\"\nfrom = \"https://www.example.com/manual\"", "is no directory"},
		{"[reuse]\njob = \"manual\"\nfrom = \"https://www.example.com/\"\nat = \"manual\"", "manual"},
	} {
		j, err := Parse("self", "self.toml", []byte(url+c.text+"\n"))
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want an error with %q", c.text, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		again, err := Parse("self", "self.toml", j.Marshal())
		if err != nil || len(again.Alternates) != len(j.Alternates) || again.Reuse != j.Reuse {
			t.Errorf("%s comes back as %v, %+v, %v", c.text, again.Alternates, again.Reuse, err)
		}
	}
	j, err := Parse("self", "self.toml",
		[]byte(url+"alternates = [\"HTTPS://Mirror.example.net:443/a/../b/\"]\n[reuse]\njob = \"manual\"\nfrom "+
			"= \"http://WWW.example.com\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	from, at := j.ReusePrefixes()
	if us := j.AlternateURLs(); len(us) != 1 || us[0].String() != "https://mirror.example.net/b/" ||
		j.Base() != "https://www.example.org/docs/" || from != "http://www.example.com/" || at != j.Base() {
		t.Errorf("alternates %v, base %s, reuse %q at %q", us, j.Base(), from, at)
	}
}
