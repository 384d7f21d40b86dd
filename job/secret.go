// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"slices"
	"strings"
)

// Secret says where a value comes from: the environment, a file, or, for a value that is not secret, the job
// file itself.
type Secret struct {
	Value string // literal; only for what needs no hiding
	Env   string // name of an environment variable
	File  string // path of a file; one trailing newline is dropped
}

// envName is the name of an environment variable that a job file writes as ${NAME}.
type envName string

// cutEnv returns NAME of ${NAME}.
func cutEnv(s string) (name string, ok bool) {
	name, opens := strings.CutPrefix(s, "${")
	name, closes := strings.CutSuffix(name, "}")
	if !opens || !closes {
		return "", false
	}
	return name, name != ""
}

// IsZero reports whether nothing was given.
func (s Secret) IsZero() bool { return s == Secret{} }

// String says where the value comes from and shows only a literal.
func (s Secret) String() string {
	switch {
	case s.Env != "":
		return "$" + s.Env
	case s.File != "":
		return "file " + s.File
	}
	return s.Value
}

// Resolve returns the value. getenv and readFile are the caller's contact with the world (os.LookupEnv,
// os.ReadFile). A variable that is not set, and an empty file, are errors: a request without its credentials
// would only look like a broken site.
func (s Secret) Resolve(
	getenv func(string) (string, bool), readFile func(string) ([]byte, error),
) (string, error) {
	switch {
	case s.Env != "":
		v, ok := getenv(s.Env)
		if !ok || v == "" {
			return "", fmt.Errorf("read secret: environment variable %s is not set", s.Env)
		}
		return v, nil
	case s.File != "":
		b, err := readFile(s.File)
		if err != nil {
			return "", fmt.Errorf("read secret: %w", err)
		}
		v := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
		if v == "" {
			return "", fmt.Errorf("read secret: file %s is empty", s.File)
		}
		return v, nil
	}
	return s.Value, nil
}

// secretHeader reports whether a header of this name usually carries a credential.
func secretHeader(name string) bool {
	n := strings.ToLower(name)
	return slices.Contains([]string{"authorization", "proxy-authorization", "cookie"}, n) ||
		slices.ContainsFunc(strings.Split(n, "-"), func(part string) bool {
			return slices.Contains(
				[]string{"token", "secret", "password", "apikey", "key", "auth", "session"}, part)
		})
}

// managedHeader reports whether mirrord itself has to decide about this request header.
func managedHeader(name string) bool {
	return slices.Contains([]string{"host", "connection", "content-length", "transfer-encoding", "te", "trailer",
		"upgrade", "accept-encoding", "range", "if-range", "if-none-match", "if-modified-since", "user-agent",
		"keep-alive", "proxy-connection", "expect"}, strings.ToLower(name))
}
