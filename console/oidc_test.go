// SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/app/access"
)

// provider is an OpenID provider with keys of its own.
type provider struct {
	*testing.T
	*httptest.Server
	key *ecdsa.PrivateKey
	now func() time.Time

	mu     sync.Mutex
	sign   *ecdsa.PrivateKey     // signs tokens
	claims map[string]any        // of the next token, over the usual ones; nil leaves one out
	codes  map[string]url.Values // what a login was begun with, by its code
}

func newProvider(t *testing.T, now func() time.Time) *provider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{
		T:     t,
		key:   key,
		now:   now,
		sign:  key,
		codes: map[string]url.Values{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.json(w, map[string]any{
			"issuer":                 p.URL,
			"authorization_endpoint": p.URL + "/auth",
			"token_endpoint":         p.URL + "/token",
			"jwks_uri":               p.URL + "/keys",

			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		point, err := key.PublicKey.Bytes() // 4, x and y
		if err != nil {
			t.Error(err)
		}
		p.json(w, map[string]any{"keys": []any{map[string]any{
			"kty": "EC",
			"crv": "P-256",
			"kid": "1",
			"alg": "ES256",
			"use": "sig",
			"x":   encoded(point[1:33]),
			"y":   encoded(point[33:]),
		}}})
	})
	mux.HandleFunc("GET /auth", p.auth)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (p *provider) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.Error(err)
	}
}

// auth is where the user says who they are: they always do.
func (p *provider) auth(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != "mirrord" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" ||
		q.Get("response_type") != "code" || !strings.Contains(q.Get("scope"), "openid") {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	p.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token gives a token for a code, once.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	id, secret, _ := r.BasicAuth()
	begun := q != nil && q.Get("code_challenge") == encoded(sum[:]) &&
		q.Get("redirect_uri") == r.FormValue("redirect_uri")
	if !begun || id != "mirrord" || secret != "s3cret" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	claims := map[string]any{
		"iss":   p.URL,
		"aud":   "mirrord",
		"sub":   "1234",
		"nonce": q.Get("nonce"),
		"iat":   p.now().Unix(),
		"exp":   p.now().Add(time.Minute).Unix(),

		"preferred_username": "ann",
		"groups":             []string{"staff", "mirror-admins"},
	}
	maps.Copy(claims, p.claims)
	p.json(w, map[string]any{
		"access_token": "x",
		"token_type":   "Bearer",
		"id_token":     p.signed(claims),
	})
}

func (p *provider) signed(claims map[string]any) string {
	body, err := json.Marshal(claims)
	if err != nil {
		p.Error(err)
	}
	text := encoded([]byte(`{"alg":"ES256","kid":"1"}`)) + "." + encoded(body)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.sign, sum[:])
	if err != nil {
		p.Error(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return text + "." + encoded(sig)
}

// with changes what the provider says next.
func (p *provider) with(claims map[string]any, key *ecdsa.PrivateKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims, p.sign = claims, key
}

// oidcFile writes the file of a provider.
func oidcFile(t *testing.T, issuer string) string {
	t.Helper()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	text := "issuer = \"" + issuer + "\"\nclient_id = \"mirrord\"\nclient_secret_file = \"" + secret + "\"\n" +
		"console = \"http://" + testHost + "\"\n[roles]\noperate = [\"mirror-admins\"]\norder = [\"staff\"]\n" +
		"read = [\"*\"]\n"
	for file, text := range map[string]string{secret: "s3cret\n", filepath.Join(dir, "oidc.toml"): text} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "oidc.toml")
}

func newOIDC(t *testing.T, c access.OIDCConfig, now func() time.Time) *access.OIDC {
	t.Helper()
	o, err := access.NewOIDC(c, now)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// viaProvider goes through a login up to the address of the console to which the provider leads back.
func (b *browser) viaProvider() (back string, going *http.Cookie) {
	b.Helper()
	b.now = b.now.Add(2 * clientEvery)
	w := b.do("/login/oidc", nil)
	for _, c := range w.Result().Cookies() {
		going = c
	}
	b.cookie = nil
	to := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || going == nil || going.SameSite != http.SameSiteLaxMode {
		b.Fatalf("%d to %q, cookie %v: %s", w.Code, to, going, w.Body)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := http.Client{CheckRedirect: stay}
	resp, err := c.Get(to)
	if err != nil {
		b.Fatal(err)
	}
	resp.Body.Close()
	return strings.TrimPrefix(resp.Header.Get("Location"), "http://"+testHost), going
}

// come comes back from the provider, as a navigation of another site: strict cookies stay behind.
func (b *browser) come(back string, going *http.Cookie) *httptest.ResponseRecorder {
	b.Helper()
	b.cookie = nil
	b.change = func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Dest", "document")
		if going != nil {
			r.AddCookie(going)
		}
	}
	return b.do(back, nil)
}

// Users of an OpenID provider log in with it; groups have roles; nothing of a login is good for another one.
func TestOIDC(t *testing.T) {
	b := newBrowser(t, nil)
	now := func() time.Time { return b.now }
	p := newProvider(t, now)
	c, err := access.ReadOIDC(oidcFile(t, p.URL))
	if err != nil {
		t.Fatal(err)
	}
	b.start(func(o *Options) { o.OIDC = newOIDC(t, c, now) })
	doc := parse(t, b.want(http.StatusUnauthorized, "Log in with", "/", nil))
	if doc.Find("a[href='/login/oidc']").Length() != 1 || doc.Find("input[type=password]").Length() != 0 {
		t.Errorf("the page of the login: %s", doc.Find("main").Text())
	}
	role := func(claims map[string]any) string {
		t.Helper()
		p.with(claims, p.key)
		back, going := b.viaProvider()
		w := b.come(back, going)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `content="0; url=/"`) {
			t.Fatalf("%d, %s", w.Code, w.Body)
		}
		for _, c := range w.Result().Cookies() {
			if c.Name == cookieName(httptest.NewRequest(http.MethodGet, "http://"+testHost, nil)) {
				b.cookie = c
			}
		}
		if b.cookie.SameSite != http.SameSiteStrictMode {
			t.Errorf("the session is %v", b.cookie)
		}
		return parse(t, b.want(http.StatusOK, "Mirrors", "/", nil)).Find("header .soft").Text()
	}
	for want, claims := range map[string]map[string]any{
		"oidc:ann · operate": nil,
		"oidc:ann · order":   {"groups": "staff"},
		"oidc:bob · read":    {"groups": []string{"others"}, "preferred_username": "bob"},
		"oidc:eve · read":    {"groups": 7, "preferred_username": "eve"},
	} {
		if got := role(claims); got != want {
			t.Errorf("logged in as %q, want %q", got, want)
		}
	}

	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for why, bad := range map[string]struct {
		claims map[string]any
		key    *ecdsa.PrivateKey
	}{
		"is not valid":       {nil, other},
		"expected audience":  {map[string]any{"aud": "another"}, p.key},
		"token is expired":   {map[string]any{"exp": b.now.Add(-time.Hour).Unix()}, p.key},
		"issued by a differ": {map[string]any{"iss": "https://evil.example"}, p.key},
		"of another login":   {map[string]any{"nonce": "x"}, p.key},
		"can be a name":      {map[string]any{"preferred_username": "a\nb"}, p.key},
	} {
		p.with(bad.claims, bad.key)
		back, going := b.viaProvider()
		if w := b.come(back, going); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), why) {
			t.Errorf("%s: %d, %s", why, w.Code, w.Body)
		}
	}
	p.with(nil, p.key)
	back, going := b.viaProvider()
	refused := func(what, back string, going *http.Cookie) {
		t.Helper()
		w := b.come(back, going)
		if w.Code != http.StatusForbidden || b.cookie != nil {
			t.Errorf("%s: %d, %v", what, w.Code, b.cookie)
		}
	}
	refused("another browser", back, nil)
	_, theirs := b.viaProvider()
	refused("the cookie of another login", back, theirs)
	refused("no such state", "/login/oidc/done?code=x&state=y", going)
	b.now = b.now.Add(access.GoingFor + time.Second)
	refused("too late", back, going)
	back, going = b.viaProvider()
	if w := b.come(back, going); w.Code != http.StatusOK {
		t.Errorf("%d, %s", w.Code, w.Body)
	}
	if w := b.come(back, going); !strings.Contains(w.Body.String(), "invalid_grant") {
		t.Errorf("twice: %d, %s", w.Code, w.Body)
	}
	b.want(http.StatusUnauthorized, "", "/", nil)
	forged := *going
	forged.Value = going.Value[:20] + "AAAA" + going.Value[24:]
	refused("a cookie that was altered", back, &forged)
	back, going = b.viaProvider()
	b.start(func(o *Options) { o.OIDC = newOIDC(t, c, now) })
	if w := b.come(back, going); w.Code != http.StatusOK {
		t.Errorf("on another node, or after a restart: %d, %s", w.Code, w.Body)
	}
	back, going = b.viaProvider()
	c.Secret = "another"
	b.start(func(o *Options) { o.OIDC = newOIDC(t, c, now) })
	refused("a cookie of another console", back, going)
	c.Secret = "s3cret"
	b.start(func(o *Options) { o.OIDC = newOIDC(t, c, now) })

	back, going = b.viaProvider()
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	failed := "/login/oidc/done?error=access_denied%3Cb%3E&state=" + url.QueryEscape(u.Query().Get("state"))
	if w := b.come(failed, going); w.Code != http.StatusBadGateway || strings.Contains(w.Body.String(), "<b>") {
		t.Errorf("refused there: %d, %s", w.Code, w.Body)
	}
	back, going = b.viaProvider()
	p.mu.Lock()
	clear(p.codes)
	p.mu.Unlock()
	if w := b.come(back, going); !strings.Contains(w.Body.String(), "refused the login: invalid_grant") {
		t.Errorf("a code that is not known: %d, %s", w.Code, w.Body)
	}

	// Without everybody, who has no group has no role; without the provider its sessions end.
	role(nil)
	session := b.cookie
	c.Roles.Read = nil
	b.start(func(o *Options) { o.OIDC = newOIDC(t, c, now) })
	p.with(map[string]any{"groups": nil}, p.key)
	back, going = b.viaProvider()
	w := b.come(back, going)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "no group") {
		t.Errorf("without a group: %d, %s", w.Code, w.Body)
	}
	b.cookie = session
	b.want(http.StatusOK, "oidc:ann", "/", nil)
	b.start(nil)
	b.want(http.StatusUnauthorized, "", "/", nil)
	log := b.facts.audit[len(b.facts.audit)-1]
	if log.Who != "oidc:ann" || log.What != "login" || !strings.Contains(log.Error, "no group") {
		t.Errorf("audit log: %+v", log)
	}
}

// A provider that is down, or a file that makes no sense, is named.
func TestOIDCRefused(t *testing.T) {
	c, err := access.ReadOIDC(oidcFile(t, "http://127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, func(o *Options) { o.OIDC = newOIDC(t, c, time.Now) })
	b.want(http.StatusBadGateway, "127.0.0.1:1 cannot be used", "/login/oidc", nil)
	for range clientBurst {
		b.do("/login/oidc", nil)
	}
	b.want(http.StatusTooManyRequests, "too many", "/login/oidc", nil)
	const good = "issuer = 'https://a.example'\nclient_id = 'x'\nconsole = 'https://b.example'\n"
	for text, want := range map[string]string{
		good:                                    "roles: say",
		good + "x = 1\n":                        "unknown key x",
		good + "groups = 3\n":                   ":4: ",
		good + "client_secret_file = '/nosuch'": "client_secret_file",
		strings.Replace(good, "https", "http", 1) + "[roles]\nread = ['*']\n": "want https",
		strings.Replace(good, "'x'", "''", 1):                                 "client_id",
	} {
		file := filepath.Join(t.TempDir(), "oidc.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := access.ReadOIDC(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
