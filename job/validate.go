// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mirrord/fetch/reach"
	"mirrord/site"
	"mirrord/site/profile"
)

// maxURLs bounds the entry points of one job.
const maxURLs = 10_000

func checkURLs(j *Job) error {
	if len(j.URLs) == 0 {
		return problemf(`write url = "https://www.example.org/"`, "no url is given")
	}
	if len(j.URLs) > maxURLs {
		return problemf("", "%d URLs are given; at most %d are allowed", len(j.URLs), maxURLs)
	}
	for _, raw := range j.URLs {
		if err := checkURL(raw); err != nil {
			return err
		}
	}
	return nil
}

func checkURL(raw string) error {
	trimmed := strings.TrimSpace(raw)
	if trimmed == "" {
		return problemf(`write url = "https://www.example.org/"`, "an empty string is no URL")
	}
	if len(raw) > 4096 {
		return problemf("", "URL is longer than 4096 bytes")
	}
	u, _, err := site.Parse(trimmed)
	if list := strings.FieldsFunc(trimmed, func(r rune) bool { return r == ' ' || r == ',' }); len(list) > 1 &&
		strings.Contains(list[1], "://") {
		return problemf(`write a list: ["`+strings.Join(list, `", "`)+`"]`, "%q is more than one URL", raw)
	}
	if err != nil {
		if !strings.Contains(trimmed, "://") {
			if u, _, err := site.Parse("https://" + trimmed); err == nil && strings.Contains(u.Hostname(), ".") &&
				!strings.Contains(strings.SplitN(trimmed, "/", 2)[0], "@") {
				return problemf("did you mean \"https://"+trimmed+"\"?", "%q is not a web URL", raw)
			}
		}
		return badURL(raw, trimmed)
	}
	if reach.NeverReachable(u.Hostname()) {
		return problemf("", "%s is the metadata service of a cloud, which is never reached", u.Hostname())
	}
	// site.Parse drops credentials; here they would be a secret in a file that many may read.
	if rest, ok := cutScheme(trimmed); ok {
		if authority, _, _ := strings.Cut(strings.ReplaceAll(rest, `\`, "/"), "/"); strings.Contains(
			strings.SplitN(authority, "?", 2)[0], "@") {
			return problemf("use [auth] with user and password_file or password",
				"a URL must not hold a user or password")
		}
	}
	return nil
}

// badURL says why a text cannot be read as a URL.
func badURL(raw, trimmed string) error {
	scheme, _, _ := strings.Cut(trimmed, ":")
	rest, ok := cutScheme(trimmed)
	if !ok || !slices.Contains([]string{"http", "https"}, strings.ToLower(scheme)) {
		return problemf("URLs start with http:// or https://", "%q is not a web URL", raw)
	}
	host, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, ':'); (at > strings.LastIndexByte(host, ']')) && (at >= 0) {
		port := host[at+1:]
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return problemf("ports are numbers from 1 to 65535", "%q is not a web URL: %q is no port", raw, port)
		}
	}
	return problemf("write the name of the host, such as www.example.org", "%q is not a web URL: %q is no host",
		raw, host)
}

// cutScheme drops the scheme and the slashes after it.
func cutScheme(s string) (string, bool) {
	_, rest, ok := strings.Cut(s, ":")
	return strings.TrimLeft(rest, `/\`), ok
}

// checkLine wants a text that archives have on one line.
func checkLine(key, text string, most int) error {
	if len(text) > most || strings.ContainsFunc(text, unicode.IsControl) {
		return problemf("", "%s must be one line of at most %d bytes", key, most)
	}
	return nil
}

func checkAuthors(j *Job) error {
	if len(j.Authors) > 100 {
		return problemf("", "%d authors are given; at most 100 are allowed", len(j.Authors))
	}
	for _, name := range j.Authors {
		if strings.TrimSpace(name) == "" {
			return problemf(`write authors = ["Ada Example"]`, "an empty string is no author")
		}
		if err := checkLine("an author", name, 300); err != nil {
			return err
		}
	}
	return nil
}

func checkTimezone(j *Job) error {
	if j.Timezone == "" {
		return nil
	}
	if _, err := time.LoadLocation(j.Timezone); err != nil || len(j.Timezone) > 100 {
		return problemf(`time zones look like "Europe/Berlin" or "UTC"`, "time zone %q is not known", j.Timezone)
	}
	return nil
}

func checkProxy(j *Job) error {
	if j.Proxy == "" {
		return checkProxyLogin(j)
	}
	address, _, password, ok := cutLogin(j.Proxy)
	if !ok {
		return problemf(`write it as ${NAME}, the name of an environment variable, or set auth.proxy_password_file`,
			"proxy must not hold a password")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return problemf(`write "http://proxy.example.org:3128"`, "%q is not a proxy", j.Proxy)
	}
	if err := checkEnv(password); err != nil {
		return err
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return checkProxyLogin(j)
	}
	return problemf("known are http, https, socks5 and socks5h", "proxy scheme %q is not known", u.Scheme)
}

// checkProxyLogin checks the user and password of the proxy, from wherever they come.
func checkProxyLogin(j *Job) error {
	_, inProxy, _, _ := cutLogin(j.Proxy)
	_, user, password := j.ProxyServer()
	switch {
	case inProxy != "" && j.Auth.ProxyUser != "":
		return problemf("", "proxy and auth.proxy_user both give a user")
	case password.File != "" && password.Env != "":
		return problemf("", "the password of the proxy is given twice: as a variable and in proxy_password_file")
	case user != "" && password.IsZero():
		return problemf(`write proxy = "http://USER:${NAME}@HOST:PORT", or set auth.proxy_password_file`,
			"the user %q of the proxy has no password", user)
	case user == "" && !password.IsZero():
		return problemf(`write proxy = "http://USER@HOST:PORT"`, "a proxy password is given but no user")
	case user != "" && j.Proxy == "":
		return problemf("", "proxy_user is given but no proxy")
	}
	return nil
}

func checkFoC(j *Job) error {
	if j.Near.MinFoC == 0 {
		return problemf("", "min_foc must be over 0: nothing changes less often than never")
	}
	return nil
}

func checkUserAgent(j *Job) error {
	ua := j.Polite.UserAgent
	switch {
	case ua == "" || len(ua) > 500 || !headerText(ua):
		return problemf("", "user_agent must be one line of 1 to 500 printable characters")
	case ProductToken(ua) == "":
		return problemf(`start it with a name, as in "mirrord (+https://mirror.example.org/)"`,
			"user_agent %q starts with no product name", ua)
	}
	return nil
}

// ProductToken returns the name that is looked up in robots.txt: the leading letters, '_' and '-' of a user
// agent (RFC 9309 2.2.1).
func ProductToken(userAgent string) string {
	return userAgent[:len(userAgent)-len(strings.TrimLeft(userAgent, letters+"_-"))]
}

func headerText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func checkUser(j *Job) error {
	a := j.Auth
	switch {
	case strings.Contains(a.User, ":") || !headerText(a.User):
		return problemf("", "user must not hold a colon or a control character")
	case a.User != "" && a.Password.IsZero():
		return problemf("set password_file or password", "user %q has no password", a.User)
	case a.User == "" && !a.Password.IsZero():
		return problemf(`write user = "NAME" beside it`, "a password is given but no user")
	}
	return nil
}

func checkPassword(j *Job) error {
	if j.Auth.Password.File != "" && j.Auth.Password.Env != "" {
		return problemf("", "password and password_file are both given")
	}
	return nil
}

func checkRepeats(j *Job) error {
	if j.Limits.MaxRepeats == 1 {
		return problemf("set 0 for no limit, or 2 or more", "limits.max_repeats = 1 would refuse every path")
	}
	return nil
}

func checkEnv(name string) error {
	if !consistsOf(name, letters+digits+"_") || len(name) > 256 ||
		(name != "" && strings.Contains(digits, name[:1])) {
		return problemf("the name goes here, not the value", "that is not the name of an environment variable")
	}
	return nil
}

func checkHeaders(j *Job) error {
	for _, name := range sortedKeys(j.Auth.Headers) {
		s := j.Auth.Headers[name]
		switch {
		case !headerName(name):
			return problemf("", "%q is not a header name", name)
		case managedHeader(name):
			return problemf("", "header %q is set by mirrord itself", name)
		case s.Value != "" && secretHeader(name):
			return problemf("write { env = \"NAME\" } or { file = \"/path\" }",
				"header %q is a credential and must not stand in a job file", name)
		case !headerText(s.Value):
			return problemf("", "header %q has a control character in its value", name)
		}
		if err := checkEnv(s.Env); err != nil {
			return err
		}
	}
	return nil
}

// headerName reports whether s is a token (RFC 9110 5.6.2).
func headerName(s string) bool {
	return s != "" && len(s) <= 100 && consistsOf(s, letters+digits+"!#$%&'*+-.^_`|~")
}

func checkPublishDir(j *Job) error {
	d := j.Publish.Dir
	if d != "" && (!strings.HasPrefix(d, "/") || strings.Contains(d, "\x00") || strings.Trim(d, "/") == "") {
		return problemf(`write an absolute path such as "/srv/www/samba"`, "publish.dir %q is not an absolute path",
			d)
	}
	return nil
}

// maxGrace is the longest publish.grace: trees hold bodies that gc would free.
const maxGrace = 30 * 24 * time.Hour

func checkGrace(j *Job) error {
	if j.Publish.Grace > maxGrace {
		return problemf(`write "30d" or less; mirrord export copies any version that is kept`,
			"publish.grace is longer than 30 days")
	}
	return nil
}

func checkIntervals(j *Job) error {
	if j.MaxInterval < j.MinInterval {
		return problemf(fmt.Sprintf("write max_interval = %q or more", formatDuration(j.MinInterval)),
			"max_interval is shorter than min_interval")
	}
	return nil
}

// checkDuration reports a text that is neither empty nor a duration.
func checkDuration(s string) error {
	if s == "" {
		return nil
	}
	_, err := ParseDuration(s)
	return err
}

// checkProfile checks the name of a profile, as far as it is known which ones there are.
func checkProfile(j *Job) error {
	if j.Profile == profile.Auto || j.Profile == profile.None || (j.Profiles == nil) ||
		j.Profiles.Find(j.Profile) != nil {
		return nil
	}
	names := []string{profile.Auto, profile.None}
	for _, p := range j.Profiles.All() {
		names = append(names, p.Name)
	}
	hint := "known are " + strings.Join(names, ", ")
	if n := Nearest(j.Profile, names); n != "" {
		hint = fmt.Sprintf("did you mean %q?", n)
	}
	return problemf(hint, "profile %q is not known", j.Profile)
}
