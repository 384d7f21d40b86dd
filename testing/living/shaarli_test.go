// SPDX-License-Identifier: Apache-2.0

package living

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// beginShaarli makes a list of links, as its own installer and API do it.
func beginShaarli(p *place) {
	p.needs("php", "php-cli php-mbstring php-intl php-curl php-xml")
	p.needs("/usr/share/shaarli", "shaarli")
	p.copies("/usr/share/shaarli", "site")
	p.run(".", "rm", "-rf", "site/cache")
	p.run(".", "mkdir", "-p", "data", "site/cache", "c/cache", "c/tmp", "c/pagecache")
	p.run("site", "sh", "-c", "grep -rlE '/(var/(lib|cache)|usr/share)/shaarli' --include='*.php' . |"+
		"xargs sed -i "+
		"-e 's|/var/lib/shaarli|"+p.dir+"|g' -e 's|/var/cache/shaarli|"+p.dir+"/c|g' "+
		"-e 's|/usr/share/shaarli|"+p.dir+"/site|g'")
	p.write("data/.htaccess", "deny")
	p.php("site", "shaarli.php")
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	for _, form := range []url.Values{nil, {
		"setlogin": {"ada"}, "setpassword": {"Adm1n!pass"}, "continent": {"Europe"}, "city": {"Berlin"},
		"title": {"Lamp links"}, "language": {"en"}, "enableApi": {"1"}, "Save": {"1"},
	}} {
		var res *http.Response
		if form == nil {
			res, err = c.Get(p.url + "/install")
		} else {
			res, err = c.PostForm(p.url+"/install", form)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		res.Body.Close()
	}
	for i := range 29 { // the installer made one
		p.shaare(http.MethodPost, "/links", map[string]any{
			"url":         fmt.Sprintf("http://example.org/%d", i),
			"title":       fmt.Sprintf("Link %d %s", i, words(i, 2)),
			"description": words(i, 25),
			"tags":        strings.Fields(strings.TrimSuffix(words(i/5, 2), ".")),
			"created":     time.Now().Add(-time.Duration(i) * 40000 * time.Second).Format(time.RFC3339),
		})
	}
}

// editShaarli edits a link.
func editShaarli(p *place, n int) {
	var links []struct {
		ID         int
		URL, Title string
		Tags       []string
	}
	if err := json.Unmarshal(p.shaare(http.MethodGet, "/links?limit=all", nil), &links); err != nil {
		p.t.Fatal(err)
	}
	for _, l := range links {
		if l.URL == fmt.Sprintf("http://example.org/%d", 10+n) {
			p.shaare(http.MethodPut, fmt.Sprint("/links/", l.ID), map[string]any{
				"url":         l.URL,
				"title":       l.Title,
				"description": words(10+n, 25) + " " + marker(n),
				"tags":        l.Tags,
			})
			return
		}
	}
	p.t.Fatalf("Shaarli has no link %d", 10+n)
}

// shaare calls the API of Shaarli.
func (p *place) shaare(method, path string, data map[string]any) []byte {
	p.t.Helper()
	config, err := os.ReadFile(filepath.Join(p.dir, "data/config.json.php"))
	if err != nil {
		p.t.Fatal(err)
	}
	found := regexp.MustCompile(`"secret":\s*"([^"]+)"`).FindSubmatch(config)
	if found == nil {
		p.t.Fatal("Shaarli has no secret")
	}
	token := ""
	for _, part := range []string{`{"typ":"JWT","alg":"HS512"}`, fmt.Sprintf(`{"iat":%d}`, time.Now().Add(p.ahead).Unix())} {
		token += base64.RawURLEncoding.EncodeToString([]byte(part)) + "."
	}
	token = strings.TrimSuffix(token, ".")
	mac := hmac.New(sha512.New, found[1])
	mac.Write([]byte(token))
	body, err := json.Marshal(data)
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token+"."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		p.t.Fatalf("Shaarli answers %s %s with %s, %v", method, path, res.Status, err)
	}
	return reply
}
