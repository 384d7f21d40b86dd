// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/pelletier/go-toml/v2"
	"golang.org/x/oauth2"

	"mirrord/internal/regular"
)

// OIDCConfig says how users of an OpenID provider log in. It is a TOML file.
type OIDCConfig struct {
	Issuer     string   `toml:"issuer"`
	ClientID   string   `toml:"client_id"`
	Secret     string   `toml:"client_secret"`
	SecretFile string   `toml:"client_secret_file"`
	Console    string   `toml:"console"` // base URL by which browsers reach the console
	Scopes     []string `toml:"scopes"`  // besides openid and profile
	User       string   `toml:"user"`    // claim that names the user; default preferred_username
	Groups     string   `toml:"groups"`  // claim that lists groups; default groups
	// groups by role; * is everybody who can log in there
	Roles struct {
		Read    []string `toml:"read"`
		Order   []string `toml:"order"`
		Operate []string `toml:"operate"`
	} `toml:"roles"`
}

// OIDCCallback is the path of the console to which the provider leads back.
const OIDCCallback = "/login/oidc/done"

// ReadOIDC reads the file of a provider.
func ReadOIDC(file string) (c OIDCConfig, err error) {
	text, err := regular.ReadSmall(file)
	if err != nil {
		return c, err
	}
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		if strict, is := errors.AsType[*toml.StrictMissingError](err); is {
			return c, fmt.Errorf("%s: unknown key %s", file, strings.Join(strict.Errors[0].Key(), "."))
		}
		if at, is := errors.AsType[*toml.DecodeError](err); is {
			line, _ := at.Position()
			return c, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		return c, fmt.Errorf("%s: %w", file, err)
	}
	if c.SecretFile != "" {
		secret, err := regular.ReadSmall(c.SecretFile)
		if err != nil {
			return c, fmt.Errorf("%s: client_secret_file: %w", file, err)
		}
		c.Secret = strings.TrimSpace(string(secret))
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

func (c *OIDCConfig) check() error {
	if c.User == "" {
		c.User = "preferred_username"
	}
	if c.Groups == "" {
		c.Groups = "groups"
	}
	for key, value := range map[string]string{"issuer": c.Issuer, "console": c.Console} {
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return fmt.Errorf("%s: want a URL such as https://login.example.org, not %q", key, value)
		}
		if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
			return fmt.Errorf("%s: %s: want https, as passwords and sessions pass there", key, value)
		}
	}
	switch {
	case c.ClientID == "":
		return errors.New("client_id: give the name that the provider has for this console")
	case len(c.Roles.Read)+len(c.Roles.Order)+len(c.Roles.Operate) == 0:
		return errors.New("roles: say which groups have which role, such as operate = [\"mirror-admins\"]; " +
			"\"*\" is everybody")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// role is the highest role of some groups.
func (c *OIDCConfig) role(groups []string) Role {
	has := func(want []string) bool {
		return slices.ContainsFunc(want, func(g string) bool { return g == "*" || slices.Contains(groups, g) })
	}
	switch {
	case has(c.Roles.Operate):
		return Operate
	case has(c.Roles.Order):
		return Order
	case has(c.Roles.Read):
		return Read
	}
	return Anonymous
}

// OIDC logs users in with an OpenID provider. Make it with NewOIDC. It is safe for concurrent use.
type OIDC struct {
	OIDCConfig
	client *http.Client
	now    func() time.Time
	seal   cipher.AEAD

	mu       sync.Mutex
	provider *oidc.Provider // nil until it is needed
}

// oidcTimeout is how long the provider may take for an answer.
const oidcTimeout = 15 * time.Second

// NewOIDC makes one. The provider is contacted at a login.
func NewOIDC(c OIDCConfig, now func() time.Time) (*OIDC, error) {
	seal, err := c.sealer()
	return &OIDC{
		OIDCConfig: c,
		client:     &http.Client{Timeout: oidcTimeout},
		now:        now,
		seal:       seal,
	}, err
}

// At is the host of the provider.
func (o *OIDC) At() string {
	u, err := url.Parse(o.Issuer)
	if err != nil {
		return o.Issuer
	}
	return u.Host
}

// Console is the base URL by which browsers reach the console.
func (o *OIDC) Console() string { return strings.TrimSuffix(o.OIDCConfig.Console, "/") }

func (o *OIDC) found(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider == nil {
		// the keys are fetched later, when the request that asks for the provider has ended
		p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.client), o.Issuer)
		if err != nil {
			return nil, nil, fmt.Errorf("the provider %s cannot be used: %w", o.At(), err)
		}
		o.provider = p
	}
	return o.provider, &oauth2.Config{
		ClientID:     o.ClientID,
		ClientSecret: o.Secret,
		Endpoint:     o.provider.Endpoint(),
		RedirectURL:  o.Console() + OIDCCallback,
		Scopes:       slices.Concat([]string{oidc.ScopeOpenID, "profile"}, o.Scopes),
	}, nil
}

// GoingFor is how long a login may take from its first page to its last.
const GoingFor = 10 * time.Minute

// going is a login that was begun: what its end must fit.
type going struct {
	State, Nonce, Verifier string
	Expires                time.Time
}

// ErrGoing says that no login of this browser has come back.
var ErrGoing = errors.New("this login was not begun in this browser, or took too long")

// sealer keeps what browsers bring back from being read or made by them. Its key comes of the secret that the
// provider gave to this console, which all nodes of a cluster have: a login may end on another node than it
// began on. Without such a secret the key is of this process.
func (c *OIDCConfig) sealer() (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(cmp.Or(c.Secret, NewSecret())), nil,
		"mirrord login "+c.Issuer+" "+c.ClientID, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Begin is where a browser goes for a login, and the cookie that it must bring back from there. Nothing is
// kept here: the cookie has it, sealed.
func (o *OIDC) Begin(ctx context.Context) (to, cookie string, err error) {
	_, c, err := o.found(ctx)
	if err != nil {
		return "", "", err
	}
	g := going{
		State:    NewSecret(),
		Nonce:    NewSecret(),
		Verifier: oauth2.GenerateVerifier(),
		Expires:  o.now().Add(GoingFor),
	}
	text, err := json.Marshal(g)
	if err != nil {
		return "", "", err
	}
	cookie = base64.RawURLEncoding.EncodeToString(o.seal.Seal(nil, nil, text, nil))
	return c.AuthCodeURL(g.State, oidc.Nonce(g.Nonce), oauth2.S256ChallengeOption(g.Verifier)), cookie, nil
}

// Back opens the cookie of a browser that comes back with a state. The error is ErrGoing: no browser can
// end the login of another.
func (o *OIDC) Back(state, cookie string) (*Login, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil {
		return nil, ErrGoing
	}
	text, err := o.seal.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, ErrGoing
	}
	var g going
	if err := json.Unmarshal(text, &g); err != nil || g.State != state || o.now().After(g.Expires) {
		return nil, ErrGoing
	}
	return &Login{o, g}, nil
}

// Login is a login that came back from the provider.
type Login struct {
	o *OIDC
	g going
}

// ErrNoRole says that the provider knows a user whom no role is meant for.
var ErrNoRole = errors.New("you are known there, but no group of yours has a role here; " +
	"an operator can give it one")

// Finish exchanges the code of a login for its user. The name begins with oidc:, so that it is never that of
// a user of this daemon or of the proxy. The provider takes a code once only.
func (l *Login) Finish(ctx context.Context, code string) (name string, role Role, err error) {
	o, g := l.o, l.g
	p, c, err := o.found(ctx)
	if err != nil {
		return "", Anonymous, err
	}
	ctx = oidc.ClientContext(ctx, o.client)
	t, err := c.Exchange(ctx, code, oauth2.VerifierOption(g.Verifier))
	if refused, is := errors.AsType[*oauth2.RetrieveError](err); is { // its text has the whole answer
		return "", Anonymous, fmt.Errorf("%s refused the login: %s", o.At(), Clip(refused.ErrorCode))
	}
	if err != nil {
		return "", Anonymous, fmt.Errorf("%s cannot be reached: %w", o.At(), err)
	}
	raw, _ := t.Extra("id_token").(string)
	id, err := p.Verifier(&oidc.Config{ClientID: o.ClientID, Now: o.now}).Verify(ctx, raw)
	if err != nil {
		return "", Anonymous, fmt.Errorf("the token of %s is not valid: %w", o.At(), err)
	}
	if id.Nonce != g.Nonce {
		return "", Anonymous, fmt.Errorf("the token of %s is of another login", o.At())
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return "", Anonymous, fmt.Errorf("the token of %s cannot be read: %w", o.At(), err)
	}
	user, _ := claims[o.User].(string)
	bad := func(r rune) bool { return !unicode.IsPrint(r) }
	if user == "" || len(user) > mostName || strings.ContainsFunc(user, bad) {
		return "", Anonymous, fmt.Errorf("the token of %s has no claim %s that can be a name", o.At(), o.User)
	}
	name = "oidc:" + user
	if role = o.role(groupsOf(claims[o.Groups])); role == Anonymous {
		return name, Anonymous, ErrNoRole
	}
	return name, role, nil
}

// groupsOf reads a claim that is a list of groups, or one.
func groupsOf(claim any) (out []string) {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}
